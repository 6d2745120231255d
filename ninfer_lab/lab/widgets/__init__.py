"""What can a reader act on?

Owns the controls and the views that stand in notebooks, one small class each, every one with a
static form that needs no kernel; a view has a plain ES module beside it, of the same name. Does not
know the inside of Program: a control acts on a bench by public words, and a view reads a value that
`lab` has made.
"""
