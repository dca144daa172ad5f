"""Boards: who wins, how sure that is, and when to stop asking."""

from conquer.boards.board import Board, board_of
from conquer.boards.stopping import Stop
from conquer.boards.widths import INTERVALS

__all__ = ["INTERVALS", "Board", "Stop", "board_of"]
