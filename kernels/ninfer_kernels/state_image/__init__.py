"""Whole-image copies between state slots, and the slots a forward reads and writes.

Owns nothing but the copy and the row table. Does not know why an image is forked, frozen or
restored.
"""
