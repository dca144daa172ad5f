"""Long runs that try to break the service: crashes, fuzzed calls, the test suite under load."""
