"""A typed client of the service, plain and async: every call can be sent again without being counted twice."""

try:
    from conquer.client.awaited import AsyncClient
    from conquer.client.calls import Acknowledged, Posed, ServiceError
    from conquer.client.plain import Client
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ImportError("conquer.client needs httpx; run: pip install 'conquer-bandits[client]'") from None

__all__ = ["Acknowledged", "AsyncClient", "Client", "Posed", "ServiceError"]
