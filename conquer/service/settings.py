"""What an operator can set, by flag or environment variable, in one place with its default and what it is for."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

_BODY_BYTES = 1 << 20
_ROUND_BYTES = 12 << 20
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold, and a server; anything above is refused before it is read or stored."""

    body_bytes: int = _BODY_BYTES
    round_bytes: int = _ROUND_BYTES
    """Of a round's items and their context: a thousand vectors of 384 numbers, each with all its digits, fit in."""
    upload_bytes: int = 64 << 20
    items: int = 1000
    features: int = 20_000
    text: int = 200_000
    cells: int = 1_000_000
    """Of the rows that a request's items become, each feature and each product with the context's being one."""
    models: int = 1000


def _setting(default: Any, help: str, secret: bool = False) -> Any:  # noqa: A002 - typer's own word
    return field(default=default, metadata={"help": help}, repr=not secret)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server runs. `from_environment` reads CONQUER_HOST, CONQUER_PORT, CONQUER_STORE and so on.

    >>> Settings.from_environment({"CONQUER_PORT": "9000"}).port
    9000
    """

    host: str = _setting("127.0.0.1", "Only loopback until a key exists.")
    port: int = _setting(8000, "")
    store: str = _setting("sqlite:///conquer.db", "sqlite:///FILE or postgresql://USER@HOST/NAME.")
    queue: int = _setting(2000, "Requests that may wait before more are turned away.")
    batch: int = _setting(256, "Requests in one commit.")
    snapshot_every: int = _setting(5000, "Log rows between snapshots.")
    cache_bytes: int = _setting(2 << 30, "Memory for models; the least recently used are read again when needed.")
    events_cached: int = _setting(20_000, "Recent rounds kept in memory per model.")
    read_seconds: float = _setting(15.0, "Time for a request to arrive.")
    idle_seconds: float = _setting(30.0, "Time between two requests of one connection.")
    connections: int = _setting(1024, "Connections at once.")
    connections_per_address: int = _setting(256, "Of these from one address, proxies aside; 0: all of them.")
    flight_bytes: int = _setting(256 << 20, "Large requests and replies in memory; one key or address gets half.")
    requests_per_second: float = _setting(0.0, "Of one key, in bursts of two seconds; 0: as many as come.")
    stop_seconds: float = _setting(30.0, "Time to finish in when told to stop.")
    retention_days: float = _setting(0.0, "Older rows are replaced by what they taught; 0 keeps them for ever.")
    lease_seconds: float = _setting(600.0, "How long a question on the page belongs to one person.")
    sweep_seconds: float = _setting(1.0, "Time between two looks for answer windows to close.")
    access_log: bool = _setting(False, "A log line per request.")
    proxy: str = _setting("", "Addresses of a proxy whose forwarded headers are believed.")
    cors: str = _setting("", "Origins of pages elsewhere that may call, comma-separated, or *.")
    key: str = _setting("", "A secret of 32 characters or more that is an admin's key, for containers.", secret=True)
    body_bytes: int = _setting(_BODY_BYTES, "The largest body; uploads, batches and rounds of items aside.")
    round_bytes: int = _setting(_ROUND_BYTES, "The largest body with a round of items.")

    def __post_init__(self) -> None:
        if not 0 <= self.port <= _LAST_PORT:
            raise ValueError(f"port must be a number from 0 to {_LAST_PORT}, got {self.port}")
        if self.batch < 1:
            raise ValueError(f"batch must be a whole number from 1, got {self.batch}: nobody would ever be served")
        if not self.sweep_seconds > 0:
            raise ValueError(f"sweep_seconds must be more than 0, got {self.sweep_seconds}: it would never rest")

    @property
    def limits(self) -> Limits:
        return Limits(body_bytes=self.body_bytes, round_bytes=self.round_bytes)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ, **flags: Any) -> "Settings":
        """Defaults, overridden by the environment, overridden by `flags` that are not None."""
        # Imported here: the command line reads the options above, and its help needs no extra.
        import msgspec

        values: dict[str, Any] = {}
        for one in fields(cls):
            name, kind = f"CONQUER_{one.name.upper()}", type(one.default)
            if name in environ:
                try:
                    values[one.name] = msgspec.convert(environ[name].strip(), kind, strict=False)
                except msgspec.ValidationError:
                    what = "0, 1, true or false" if kind is bool else kind.__name__
                    raise ValueError(f"{name} must be {what}, got {environ[name]!r}") from None
        return cls(**{**values, **{name: value for name, value in flags.items() if value is not None}})
