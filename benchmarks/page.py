"""The HTML page of a path of 100,000 features: its size, and how long a browser needs for it."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import kernelpath as kp
from common import Report, load_shared

OPENINGS = 5
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def opening_times(file: Path) -> list[float] | None:
    """Wall seconds until the first chart is drawn; None without a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        return None
    times = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=ARGUMENTS)
        for _ in range(OPENINGS):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(file.as_uri())
            page.wait_for_selector("#curve svg")
            times.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return times


def page_of(report: Report, what: str, X: Any, y: Any) -> None:
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", UserWarning)  # constant columns
        path = kp.LpKTASelector().fit(X, y).path_
        file = Path(folder, "page.html")
        start = time.process_time()
        kp.save_html(path.summary(X, y), file)
        seconds = time.process_time() - start
        size = file.stat().st_size / 1e6
        times = opening_times(file)
    report.add(f"page of {what}: size", f"{size:.2f} MB", "< 5 MB", size < 5)
    if times is None:
        report.note("no browser here: the opening times were left out")
    else:
        slowest = max(times)
        report.add(
            f"the same, slowest of {OPENINGS} openings (wall)", f"{slowest:.2f} s", "< 2 s",
            slowest < 2,
        )  # fmt: skip
    report.note(f"summary and page of {what}: {seconds:.1f} s of CPU")


def main() -> None:
    report = Report("page", "The HTML page")
    data = kp.datasets.make_wide(200, 100_000, random_state=0)
    page_of(report, "a simulated table, 200 x 100,000", data.X, data.y)
    shared = load_shared("dorothea", "train")
    if shared is None:
        report.note("dorothea is not here: its rows were left out")
    else:
        page_of(report, "dorothea, 800 x 100,000 sparse", *shared)
    report.save()


if __name__ == "__main__":
    main()
