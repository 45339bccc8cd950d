"""``python -m livejoin``: the command line."""

import sys

from livejoin.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
