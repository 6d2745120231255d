"""Softmax attention that reads its keys and values through a page table.

Owns prefill (one row, many new tokens) and decode (many rows, one new token each). Does not know
RoPE, gates or who owns a page.
"""
