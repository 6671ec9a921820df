"""Tools of servers that speak the Model Context Protocol.

A session knows what its servers offer from a list that was kept on disk, and starts one when a tool of it is called.
Servers live in a thread with an event loop of its own; there alone the `mcp` package (an extra) is imported. Whatever
a server does, crash, hang or answer with nonsense, is a failed result of the call; the next call starts it again.
"""
