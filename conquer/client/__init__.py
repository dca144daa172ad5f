"""A typed client of the service, plain and async: every call can be sent again without being counted twice."""

from conquer.client.awaited import AsyncClient
from conquer.client.calls import Acknowledged, Posed, ServiceError
from conquer.client.plain import Client

__all__ = ["Acknowledged", "AsyncClient", "Client", "Posed", "ServiceError"]
