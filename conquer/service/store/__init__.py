"""The database: tables, migrations, reading and writing rows and snapshots, backups."""
