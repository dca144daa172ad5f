"""What the paper claims, tried on the results at hand: the verdicts and the words come from the numbers."""
