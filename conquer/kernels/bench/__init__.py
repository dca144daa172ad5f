"""What only the benchmark compiles."""
