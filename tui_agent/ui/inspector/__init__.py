"""The inspector: records, checkpoints, backups."""
