"""`python -m tests.soak`: everything, or one of sqlite, postgres, fuzz, busy."""

import sys
from pathlib import Path

# As in pytest: what the tests share is imported from their folder.
sys.path.insert(0, str(Path(__file__).parents[1]))

from soak.command import main

main(sys.argv[1:])
