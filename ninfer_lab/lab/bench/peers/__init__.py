"""What do other engines really reuse, on the same checkpoint and the same requests?

Owns the request streams, the tiny checkpoint in two formats, the scripts that run in an environment
where the other engines are installed (`make peers`), what they measured, and the table of it.
Imports none of them: each runs in a process of its own, is told its work in a file and answers in
one. Does not know how a design decides (`policies`), nor how anything here is reused.
"""
