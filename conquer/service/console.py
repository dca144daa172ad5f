"""What a server says of itself: plain lines to a person at a terminal, JSON lines to whatever collects logs."""

import errno
import json
import logging
import os
import socket
import sys
from collections.abc import Callable

_EVERYWHERE = ("0.0.0.0", "::")
logger = logging.getLogger("conquer.service")


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up() -> Callable[[str], None]:
    """Set up the log, and return what says a line to whoever started the server.

    On a terminal only what is wrong is logged, in words; elsewhere everything is, as JSON.
    """
    handler = logging.StreamHandler(sys.stderr)
    if sys.stderr.isatty():
        handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
        return _say
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    return lambda line: logger.info("%s", line)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def welcome(host: str) -> Callable[[int], None]:
    """Says, on a terminal, where the server is once it listens on a port."""

    def begun(port: int) -> None:
        if sys.stderr.isatty():
            _say(f"CONQUER is at {address(host, port)} (Ctrl-C stops it)")

    return begun


def address(host: str, port: int) -> str:
    """What to open in a browser.

    >>> address("127.0.0.1", 8000), address("::1", 80), address("0.0.0.0", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:80', 'http://localhost:8000 and every other address of this machine')
    """
    if host in _EVERYWHERE:
        return f"http://localhost:{port} and every other address of this machine"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def check_address(host: str, port: int) -> None:
    """A ValueError that says in one line why nothing could listen there, before anything is opened."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ValueError(f"--host must be an address of this machine, got {host!r}") from None
    faults = []
    for family, kind, protocol, _, place in places:
        try:
            with socket.socket(family, kind, protocol) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind(place)
        except PermissionError:
            raise ValueError(f"port {port} needs rights this process has not: give another --port") from None
        except OSError as error:
            # A name may have addresses of a family that this machine does not have: one that works is enough.
            faults.append(error)
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and len(faults) < len(places):
                continue
            why = os.strerror(error.errno or 0).lower()
            raise ValueError(f"nothing can listen at {host} port {port} ({why}): choose another") from None
