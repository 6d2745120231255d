"""How do messages become tokens with frontiers, and tokens become text again?

Owns tokenizer, chat template and the boundaries they imply. Proves nothing about any cache, and
knows neither requests in flight nor storage.
"""
