"""The program `e2bki`, as `python -m e2bki` or as the command that the wheel installs."""

import signal
import sys

from ._e2bki import run


def main() -> None:
    # Python would only look at an interrupt after the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
