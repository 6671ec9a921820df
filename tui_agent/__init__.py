"""tui-agent: a terminal coding agent whose context you can see, trust and rewind."""

__version__ = "0.3.0"
