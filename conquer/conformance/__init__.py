"""What every algorithm promises, as checks that a test or `conquer check-algorithm` runs."""
