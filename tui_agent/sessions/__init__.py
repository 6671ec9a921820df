"""Where conversations lie."""
