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
    # How many groups of items questions may be drawn from; rows beyond are an upload that is still coming.
    Column("pooled", Integer, nullable=False),
    # The upload that may write those rows and show them: the one that began last.
    Column("upload", Text),
    # What pages call it, "" its name; and whether nobody is asked anything new for now.
    Column("title", Text, nullable=False),
    Column("paused", Integer, nullable=False),
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
    # By which rules the row is folded (0: before rows said so) and the sum over all of it.
    Column("format", Integer, nullable=False),
    Column("checksum", BigInteger),
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
    # By which rules its rows were folded: another version's is folded anew from the log.
    Column("format", Integer, nullable=False),
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

# Links by which people who have no key may answer, of which only the digest is stored.
invitations = Table(
    "invitations",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("note", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    # How many may come, and how many have.
    Column("uses", Integer),
    Column("used", Integer, nullable=False),
)

secrets = Table("secrets", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

items = Table(
    "items",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

# Pictures of a model's items, each under a digest of its bytes. `file` is what whoever uploaded it calls it.
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

# Event ids whose rows have been pruned, as keyed digests: they are not given out a second time.
retired = Table(
    "retired", metadata, Column("model_id", Integer, primary_key=True), Column("event", Text, primary_key=True)
)

# Page sessions that were ended before their time.
ended = Table("ended", metadata, Column("session", Text, primary_key=True), Column("until", Double, nullable=False))

# Who serves this store now, and by which rules it folds.
servers = Table(
    "servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("fold", Integer, nullable=False),
    Column("about", Text, nullable=False),
    Column("seen", Double, nullable=False),
)

# What a server's fold came to at a position, for the others to compare with theirs.
digests = Table(
    "digests",
    metadata,
    Column("model_id", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    # The last correction or erasure that the fold knew of.
    Column("generation", BigInteger, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("server", Text, nullable=False),
)
