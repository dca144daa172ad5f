"""What the clock and the operator do: retention, deletion, other servers."""
