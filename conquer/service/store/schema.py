"""The tables as SQLAlchemy sees them; `migrations` creates them, and a test holds the two together."""

from sqlalchemy import BigInteger, Column, Double, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

models = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    # The last position handed out. Taken under this row's lock, so position order is commit order without gaps.
    Column("position", BigInteger, nullable=False),
    # Rows up to here have been pruned; the snapshot at this position stands for them.
    Column("base", BigInteger, nullable=False),
    Column("created", Double, nullable=False),
)

log = Table(
    "log",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("event_id", Text),
    Column("voter", Text),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("parts", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("roles", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
)

secrets = Table("secrets", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

items = Table(
    "items",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

# How many learnt answers of a voter have been pruned; the voter as a keyed digest, so that no name stays.
pruned = Table(
    "pruned",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("voter", Text, primary_key=True),
    Column("answers", BigInteger, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("voter", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("until", Double, nullable=False),
)
