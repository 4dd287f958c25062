"""Draw the pictures of README and docs: ``make readme``."""

from __future__ import annotations

from pathlib import Path

import kernelpath as kp
from kernelpath.report.displays import save_plot

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Draw the path of the demo table."""
    IMAGES.mkdir(exist_ok=True)
    data = kp.datasets.make_wide()
    import pandas as pd

    frame = pd.DataFrame(data.X, columns=data.feature_names)
    path = kp.LpKTASelector().fit(frame, data.y).path_
    save_plot(path, IMAGES / "demo-path.png")
    print(f"wrote {IMAGES.name}/demo-path.png")


if __name__ == "__main__":
    main()
