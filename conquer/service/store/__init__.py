"""SQL and nothing else: tables, logs, snapshots, keys, items, images, backups, erasure."""
