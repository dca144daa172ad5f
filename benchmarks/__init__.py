"""Speed of CONQUER beside other programs, as ratios in one run: `python -m benchmarks [--quick] [--service]`."""
