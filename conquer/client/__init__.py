"""A typed client of the service, plain and async: every call can be sent again without being counted twice."""

try:
    import httpx as _httpx  # noqa: F401
except ImportError:
    raise ImportError("conquer.client needs httpx; run: pip install 'conquer-bandits[client]'") from None

from conquer.client.awaited import AsyncClient
from conquer.client.calls import Acknowledged, Posed, ServiceError
from conquer.client.plain import Client

__all__ = ["Acknowledged", "AsyncClient", "Client", "Posed", "ServiceError"]
