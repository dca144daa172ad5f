"""Sessions: ask and tell with names, a ledger of what happened, files to continue from."""

from conquer.session.ledger import MemoryLedger, replay
from conquer.session.session import Session
from conquer.session.session_file import load, restore, save

__all__ = ["MemoryLedger", "Session", "load", "replay", "restore", "save"]
