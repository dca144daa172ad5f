"""Every algorithm in every world, compared on the same repetitions."""
