"""Settings: schema, load, save, secrets."""
