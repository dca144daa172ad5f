"""Speed beside other packages, the machine and our own growth: measured in one run, reported as ratios."""
