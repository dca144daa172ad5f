"""HTTP itself: routing, schemas, errors, keys, metrics, time limits."""
