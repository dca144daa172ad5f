"""Each extra alone in a virtual environment of its own, as a reader of the documents installs it."""
