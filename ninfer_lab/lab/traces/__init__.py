"""What did others send to their models?

Owns the readers of public request traces, the token prompts that stand for what the traces do not
tell, and the replay of a trace through the simulated engine. Does not know what the engine decides.
"""
