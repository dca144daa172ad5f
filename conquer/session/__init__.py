"""Sessions: ask and tell with names, a ledger of what happened, files to continue from."""

from conquer.session.ledger import MemoryLedger, replay
from conquer.session.saving import load, restore, save
from conquer.session.session import Session

__all__ = ["MemoryLedger", "Session", "load", "replay", "restore", "save"]
