"""`python -m conquer` is the command line."""

import sys

from conquer.cli import main

sys.exit(main())
