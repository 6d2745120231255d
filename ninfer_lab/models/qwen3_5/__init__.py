"""Qwen3.5 dense text models: geometry, checkpoint, forward, and the tensors a forward reads and
writes.

Owns the mathematics and the layout of a StateImage and of a KV page. Does not know who holds a slot
or a page, when a forward runs, or why a state is kept; knows neither vision nor draft tokens.
"""
