"""Settings: what may be set (schema), reading (load), writing back (save), and the user's keys (secrets)."""
