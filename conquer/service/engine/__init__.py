"""The one place that writes: requests queued, carried out in batches, committed together."""
