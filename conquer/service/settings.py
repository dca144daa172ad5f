"""Settings of a server, by flag or environment variable, each with its default and help."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

_LAST_PORT = 65535


def _setting(default: Any, help: str, secret: bool = False) -> Any:  # noqa: A002 - typer's own word
    return field(default=default, metadata={"help": help}, repr=not secret)


@dataclass(frozen=True)
class Limits:
    """What one request, one model and one key may take; anything above is refused before it is read or stored."""

    body_bytes: int = _setting(1 << 20, "Largest body, except uploads, batches and rounds of items.")
    # 1,000 vectors of 384 numbers with all their digits fit in.
    round_bytes: int = _setting(12 << 20, "Largest body with a round of items.")
    upload_bytes: int = _setting(64 << 20, "Largest upload or batch.")
    operations: int = _setting(200_000_000, "Multiply-adds that one choose may take.")
    read_bytes: int = _setting(16 << 20, "Bytes of stored rounds that one batch reads again; other answers wait.")
    models: int = _setting(1000, "Models in the store.")
    models_per_key: int = _setting(200, "Models that one key may create.")
    items: int = 1000
    features: int = 20_000
    text: int = 200_000
    fitting_bytes: int = 256 << 20
    """Memory for the distinct features of a corpus while a model's features are fitted to it."""

    @cached_property
    def cells(self) -> int:
        """Features of a request's items, products with the context's features included.

        A number with all its digits takes more than 16 bytes: a largest round of such vectors is not refused for its
        cells. One of short numbers may be.
        """
        return max(1_000_000, self.round_bytes // 16)


@dataclass(frozen=True)
class Settings(Limits):
    """How a server runs. `from_environment` reads CONQUER_HOST, CONQUER_PORT, CONQUER_STORE and so on.

    >>> Settings.from_environment({"CONQUER_PORT": "9000"}).port
    9000
    """

    host: str = _setting("127.0.0.1", "Address to listen at; loopback only until a key exists.")
    port: int = _setting(8000, "Port to listen at; 0: any free one.")
    store: str = _setting("sqlite:///conquer.db", "sqlite:///FILE or postgresql://USER@HOST/NAME.")
    queue: int = _setting(2000, "Requests that may wait for the engine; more are refused.")
    batch: int = _setting(256, "Requests in one commit.")
    snapshot_every: int = _setting(5000, "Log rows between snapshots.")
    cache_bytes: int = _setting(2 << 30, "Memory for models; the least recently used are unloaded.")
    events_cached: int = _setting(20_000, "Recent rounds kept in memory per model.")
    read_seconds: float = _setting(15.0, "Time for a request's head to arrive, and for its body; more for large ones.")
    idle_seconds: float = _setting(30.0, "Time from a reply to the next request of its connection.")
    connections: int = _setting(1024, "Open connections; more are refused.")
    connections_per_address: int = _setting(256, "Open connections of one address, proxies aside; 0: no bound.")
    flight_bytes: int = _setting(288 << 20, "Memory for large requests and replies; one key or address gets half.")
    requests_per_second: float = _setting(0.0, "Requests of one key, in bursts of two seconds; 0: no bound.")
    stop_seconds: float = _setting(30.0, "Time to finish in after SIGTERM.")
    retention_days: float = _setting(0.0, "Age at which log rows are replaced by what they taught; 0: never.")
    lease_seconds: float = _setting(600.0, "How long a question on the page is reserved for one person.")
    joins_per_address: int = _setting(30, "People who may join by one link from one address within lease_seconds.")
    access_log: bool = _setting(False, "Log a line per request.")
    proxy: str = _setting("", "Addresses of proxies whose X-Forwarded headers are trusted, comma-separated.")
    cors: str = _setting("", "Origins of other sites' pages that may call, comma-separated, or *.")
    key: str = _setting("", "An admin key of at least 32 characters, for containers.", secret=True)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= _LAST_PORT:
            raise ValueError(f"port must be a number from 0 to {_LAST_PORT}, got {self.port}")
        if self.batch < 1:
            raise ValueError(f"batch must be a whole number from 1, got {self.batch}")

    @property
    def model_bytes(self) -> int:
        """Bytes of the largest model that can be created: its file fits in one key's share of `flight_bytes`."""
        return max(64 << 20, min(self.cache_bytes // 4, self.flight_bytes // 2))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ, **flags: Any) -> "Settings":
        """Defaults, overridden by the environment, overridden by `flags` that are not None."""
        # Imported here: the command line reads the options above, and its help needs no extra.
        import msgspec

        values: dict[str, Any] = {}
        for one in fields(cls):
            if "help" not in one.metadata:
                continue
            name, kind = f"CONQUER_{one.name.upper()}", type(one.default)
            if name in environ:
                try:
                    values[one.name] = msgspec.convert(environ[name].strip(), kind, strict=False)
                except msgspec.ValidationError:
                    what = "0, 1, true or false" if kind is bool else kind.__name__
                    raise ValueError(f"{name} must be {what}, got {environ[name]!r}") from None
        return cls(**{**values, **{name: value for name, value in flags.items() if value is not None}})
