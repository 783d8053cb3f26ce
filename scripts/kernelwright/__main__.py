"""`python -m kernelwright` is the console command."""

import sys

from kernelwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
