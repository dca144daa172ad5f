"""What it costs to choose with old weights: answers that come late, in batches, or from regions that learn apart."""
