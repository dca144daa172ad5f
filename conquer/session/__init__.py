"""Sessions: ask and tell with names, a ledger of what happened, files to continue from."""

from conquer.answers import RESERVED, AnswerError, left_is_second, leftmost, read_answer
from conquer.session.ledger import MemoryLedger, replay
from conquer.session.saving import load, restore, save
from conquer.session.session import Session

__all__ = [
    "RESERVED",
    "AnswerError",
    "MemoryLedger",
    "Session",
    "left_is_second",
    "leftmost",
    "load",
    "read_answer",
    "replay",
    "restore",
    "save",
]
