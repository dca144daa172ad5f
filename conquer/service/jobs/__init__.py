"""What the clock and the operator do: expiry, retention, erasure."""
