"""A context that grows too long is made shorter: old results elided one by one, or the history summarised.

Nothing here is irreversible: eliding appends a record that can be taken back, a summary is one rewrite whose backup
is the log as it was.
"""
