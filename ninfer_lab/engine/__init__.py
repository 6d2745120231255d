"""What happens next?

Owns the step loop, the recorder and the assembly that joins the rooms; ``assembly`` alone names
concrete classes. Knows no policy: every cache design stands behind one protocol.
"""
