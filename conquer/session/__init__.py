"""Sessions: ask and tell with names, a ledger of what happened, files to continue from."""

from conquer.session.answers import RESERVED, AnswerError, left_is_second, leftmost, read_answer
from conquer.session.asking import Session
from conquer.session.ledger import MemoryLedger, replay
from conquer.session.storing import load, restore, save

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
