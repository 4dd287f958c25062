"""Entry point of the program: light, so that an interrupt is answered from the first moment."""

from __future__ import annotations

import sys

INTERRUPTED = 130
HALF_WRITTEN = "no file is half-written"
answered = False  # whether an interrupt has been answered in words


def main() -> None:
    """Run the program; an interrupt ends in one line and its exit code, whenever it comes."""
    try:
        from kernelpath.cli.main import main as run

        run()
    except KeyboardInterrupt:
        _answer()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED and not answered:
            _answer()
        raise


def _answer() -> None:
    sys.stderr.write(f"kernelpath: interrupted; {HALF_WRITTEN}\n")
