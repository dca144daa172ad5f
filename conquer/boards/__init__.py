"""Boards: items by score, how certain their order is, and when to stop asking."""

from conquer.boards.board import Board, Stop, board_of
from conquer.boards.evidence import Evidence
from conquer.boards.widths import INTERVALS, BoardSettings, Interval, Width

__all__ = ["INTERVALS", "Board", "BoardSettings", "Evidence", "Interval", "Stop", "Width", "board_of"]
