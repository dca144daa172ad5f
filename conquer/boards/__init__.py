"""Boards: items by score, how certain their order is, and when to stop asking."""

from conquer.boards.board import Board, Stop, board_of
from conquer.boards.widths import INTERVALS, BoardSettings, Interval

__all__ = ["INTERVALS", "Board", "BoardSettings", "Interval", "Stop", "board_of"]
