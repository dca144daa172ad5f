"""What the study and the benchmark compute in bulk, compiled."""
