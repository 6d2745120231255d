"""What does a running sequence hold, and what does its next forward read and write?

Owns sequence handles and forward steps. Knows neither the queue behind them nor what will be
kept afterwards.
"""
