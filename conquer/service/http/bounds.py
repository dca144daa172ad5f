"""How many connections a server holds, in all and from one address, and how many its open files allow."""

import resource
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

_FILES = 256
"""Open files left for the store, its log and what is being accepted."""
_ENOUGH = 1 << 20


@dataclass(slots=True)
class Bounds:
    """Connections come in through `enter` and go through `leave`. 0 `per_address`: as many as there is room for.

    >>> bounds = Bounds(connections=3, per_address=1, trusted="10.0.0.0/8")
    >>> [bounds.enter(address) for address in ("1.2.3.4", "1.2.3.4", "10.0.0.1", "10.0.0.1", "::1")]
    ['', '1 connections from this address are open', '', '', '3 connections are open']
    >>> bounds.leave("1.2.3.4")
    >>> bounds.enter("1.2.3.4")
    ''
    """

    seconds: float = 15.0
    connections: int = 1024
    per_address: int = 256
    trusted: str = ""
    """Addresses and networks of proxies, as uvicorn reads them: one of these speaks for many."""
    open: int = 0
    _by_address: Counter[str] = field(default_factory=Counter)

    def enter(self, address: str) -> str:
        """Count a connection in. What it returns says why there is no room for it, and is empty when there is."""
        if self.open >= self.connections:
            return f"{self.open} connections are open"
        if 0 < self.per_address <= self._by_address[address] and not self._speaks_for_many(address):
            return f"{self.per_address} connections from this address are open"
        self.open += 1
        self._by_address[address] += 1
        return ""

    def leave(self, address: str) -> None:
        """Count out a connection that `enter` let in."""
        self.open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _speaks_for_many(self, address: str) -> bool:
        return not address or any(_covers(one.strip(), address) for one in self.trusted.split(",") if one)


def _covers(proxy: str, address: str) -> bool:
    """Whether the address is the proxy's; what is no address or network is compared as it is written."""
    try:
        return ip_address(address) in ip_network(proxy, strict=False)
    except ValueError:
        return proxy in ("*", address)


def room_for(connections: int) -> tuple[int, int]:
    """(connections, backlog) within this process's open files, of which it takes as many as it may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _ENOUGH if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, _ENOUGH), hard))
    room = min(connections, max(files - _FILES, files // 2))
    # Those who are turned away are accepted first, a backlog of them at a time.
    return room, max(1, min(2048, (files - room) // 2))
