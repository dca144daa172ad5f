"""Real votes, measured: a fit beside Bradley-Terry, arguments of topics never seen, and votes per second."""
