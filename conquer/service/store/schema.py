"""The tables of a store, and the row that names their format."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    text,
)

FORMAT = 1
"""The format of the tables below. Another number: other tables, which this program neither reads nor changes."""
_CREATION = 0x434E5152
"""Advisory lock of PostgreSQL servers that create the tables at the same time."""
metadata = MetaData()

version = Table("version", metadata, Column("format", Integer, primary_key=True, autoincrement=False))

models = Table(
    "models",
    metadata,
    # An id is never used a second time: rows of a deleted model may be left for a while.
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    # Rows up to here have been pruned; the snapshot at this position replaces them.
    Column("base", BigInteger, nullable=False),
    Column("created", Double, nullable=False),
    # The id of the key that created it, "" without keys.
    Column("owner", Text, nullable=False),
    # How many rows of `items` questions are drawn from; later rows belong to an upload in progress.
    Column("pooled", Integer, nullable=False),
    # The upload that may write those rows: the one that began last.
    Column("upload", Text),
    # The name on pages, "" for `name`; and whether new questions are paused.
    Column("title", Text, nullable=False),
    Column("paused", Integer, nullable=False),
    sqlite_autoincrement=True,
)

# The key is the fence: two servers that append at the same position conflict, so position order is commit order.
# Not WITHOUT ROWID: there a row of a kilobyte takes a page of its own.
log = Table(
    "log",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("event_id", Text),
    Column("voter", Text),
    Column("at", Double, nullable=False),
    # The replay rules the row was written for (records.FOLD), and the checksum of the row.
    Column("format", Integer, nullable=False),
    Column("checksum", BigInteger),
    Column("body", Text, nullable=False),
)
# By kind as well: the decision and the answers of an event are found without reading its flags.
Index("log_event", log.c.model_id, log.c.event_id, log.c.kind)
# A query that uses the partial index repeats these very words.
CHANGES = text("kind IN ('correction', 'erasure')")
Index("log_change", log.c.model_id, log.c.position, sqlite_where=CHANGES, postgresql_where=CHANGES)

snapshots = Table(
    "snapshots",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("parts", Integer, nullable=False),
    Column("at", Double, nullable=False),
    # The replay rules that made it; a snapshot of other rules is replaced by a replay of the log.
    Column("format", Integer, nullable=False),
    # Of the first part: the model's counts as JSON, for lists; "" for none.
    Column("summary", Text, nullable=False),
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

# Links by which people without a key answer; only the digest of the secret is stored.
invitations = Table(
    "invitations",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("note", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    # How many people may join, and how many have.
    Column("uses", Integer),
    Column("used", Integer, nullable=False),
)

# Page sessions that ended before their cookies expire. Numbers grow in commit order, so a reader asks for later ones.
ended = Table(
    "ended",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("session", Text, nullable=False, unique=True),
    Column("until", Double, nullable=False, index=True),
    sqlite_autoincrement=True,
)

secrets = Table("secrets", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

items = Table(
    "items",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

# Images of a model's items, each under a digest of its bytes. `file` is its name at the uploader's.
images = Table(
    "images",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("file", Text),
    Column("size", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("voter", Text, primary_key=True),
    Column("event_id", Text, nullable=False),
    Column("subjects", Text, nullable=False),
    Column("until", Double, nullable=False),
)

# Event ids whose rows have been pruned, as digests: they are not used a second time.
retired = Table(
    "retired", metadata, Column("model_id", Integer, primary_key=True), Column("event", Text, primary_key=True)
)

# The servers of this store and their replay rules.
servers = Table(
    "servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("fold", Integer, nullable=False),
    Column("seen", Double, nullable=False),
)

# The digest of a model's weights at a position on one server, for the others to compare with theirs.
digests = Table(
    "digests",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    # The last correction or erasure that the replay knew of.
    Column("generation", BigInteger, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("server", Text, nullable=False),
)


def stored_format(connection: Connection) -> int | None:
    """The format of a store: None where it has no tables, 0 for tables without a version row."""
    found = inspect(connection)
    if not found.has_table(version.name):
        return 0 if found.has_table(models.name) else None
    return int(connection.execute(select(func.coalesce(func.max(version.c.format), 0))).scalar_one())


def create_tables(connection: Connection) -> None:
    """Create all tables, unless another server has done so meanwhile."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CREATION})
    if stored_format(connection) is None:
        metadata.create_all(connection)
        connection.execute(insert(version).values(format=FORMAT))
