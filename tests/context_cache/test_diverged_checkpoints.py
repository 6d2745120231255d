"""Law: what a session's newest prompt has left below a frontier is worth nothing to that session, if
the engine is told to believe it; a prompt that goes back, another session and a late one count.
"""
