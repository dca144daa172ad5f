"""What an operator can set, by flag or environment variable, in one place with its default."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

_BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold; anything above is refused before it is read or stored."""

    body_bytes: int = _BODY_BYTES
    upload_bytes: int = 64 << 20
    items: int = 1000
    features: int = 20_000
    text: int = 200_000
    identifier: int = 200
    batch: int = 1000
    dimension: int = 1 << 24
    models: int = 1000


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server runs. `from_environment` reads CONQUER_HOST, CONQUER_PORT, CONQUER_STORE and so on.

    >>> Settings.from_environment({"CONQUER_PORT": "9000"}).port
    9000
    """

    store: str = "sqlite:///conquer.db"
    host: str = "127.0.0.1"
    port: int = 8000
    queue: int = 2000
    batch: int = 256
    snapshot_every: int = 5000
    cache_bytes: int = 2 << 30
    events_cached: int = 20_000
    read_seconds: float = 15.0
    idle_seconds: float = 30.0
    connections: int = 1024
    retention_days: float = 0.0
    lease_seconds: float = 600.0
    sweep_seconds: float = 1.0
    access_log: bool = False
    proxy: str = ""
    body_bytes: int = _BODY_BYTES

    @property
    def limits(self) -> Limits:
        return replace(Limits(), body_bytes=self.body_bytes)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ, **flags: Any) -> "Settings":
        """Defaults, overridden by the environment, overridden by `flags` that are not None."""
        values: dict[str, Any] = {}
        for field in fields(cls):
            name = f"CONQUER_{field.name.upper()}"
            if name in environ:
                values[field.name] = _parsed(name, environ[name], type(field.default))
        values.update({name: value for name, value in flags.items() if value is not None})
        return cls(**values)


def _parsed(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() not in ("0", "1", "true", "false"):
            raise ValueError(f"{name} must be 0, 1, true or false, got {text!r}")
        return text.lower() in ("1", "true")
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{name} must be {kind.__name__}, got {text!r}") from None
