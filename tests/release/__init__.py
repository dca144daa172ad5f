"""What a release promises: quick parts as tests, slow ones by `python -m tests.release`."""
