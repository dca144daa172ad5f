"""Jobs that run by the clock: retention, deletion, other servers."""
