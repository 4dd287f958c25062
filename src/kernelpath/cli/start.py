"""Entry point of the program: light, so that an interrupt is answered from the first moment."""

from __future__ import annotations

import _thread
import sys
import time
from typing import Any

INTERRUPTED = 130
HALF_WRITTEN = "no file is half-written"
answered = False  # whether an interrupt has been answered in words


def main() -> None:
    """Run the program; an interrupt ends in one line and its exit code, whenever it comes."""
    sys.unraisablehook = _raise_again
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


def _raise_again(lost: Any) -> None:
    """An interrupt that came where Python can raise nothing, as while it loads a module."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_interrupt_soon, ())  # here it would be lost again
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    time.sleep(0.02)
    _thread.interrupt_main()


def _answer() -> None:
    sys.stderr.write(f"kernelpath: interrupted; {HALF_WRITTEN}\n")
