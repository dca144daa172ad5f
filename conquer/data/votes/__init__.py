"""Votes that other systems gathered: who won, of two things, and who said so."""

from conquer.data.votes.reading import VoteReading, read_votes, whole_file
from conquer.data.votes.vote import Found, Vote, VoteBlock, VoteError

__all__ = ["Found", "Vote", "VoteBlock", "VoteError", "VoteReading", "read_votes", "whole_file"]
