"""`python -m orbitile`: the command."""

import sys

from .commandline import main

if __name__ == "__main__":
    sys.exit(main())
