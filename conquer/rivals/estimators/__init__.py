"""How answers become a mean and a width: what the selectors and the rivals for several items build on."""
