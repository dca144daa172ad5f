"""Every figure of the package: the only room that draws."""
