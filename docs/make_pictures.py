"""Draw the pictures of README and docs: ``make readme``."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import kernelpath as kp
from kernelpath.errors import ConstantColumnWarning
from kernelpath.report.displays._canvas import screenless, signed
from kernelpath.report.displays.accuracy import AccuracyDisplay, save_scores
from kernelpath.report.displays.significance import SignificanceDisplay, save_significance

IMAGES = Path(__file__).parent / "images"


def demo() -> None:
    """Keep the first picture of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kernelpath", "demo", "--only", "wine", "--out", folder]
        subprocess.run(command, check=True)
        shutil.copyfile(Path(folder, "wine", "accuracy.png"), IMAGES / "demo-accuracy.png")
    print(f"wrote {IMAGES.name}/demo-accuracy.png")


def how_many_features() -> None:
    """Draw the curve of the guide "How many features do I need?"."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, _, y_train, _ = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model = kp.PathCV(kp.LpKTASelector(), baselines=("f_test", "forest")).fit(X_train, y_train)
    save_scores(AccuracyDisplay.from_model(model), IMAGES / "how-many-features.png")
    print(f"wrote {IMAGES.name}/how-many-features.png: {model.operating_point_}")
    report_page(model)


def report_page(model: kp.PathCV) -> None:
    """Photograph the top of the page of the same model; needs Debian's chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("chromium is not here: report.png stays as it is")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        kp.save_html(model.summary(), page_file)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 1240}, device_scale_factor=1.25)
        page.goto(page_file.as_uri())
        page.screenshot(path=IMAGES / "report.png")
        browser.close()
    print(f"wrote {IMAGES.name}/report.png")


def stability() -> None:
    """Draw the selection probabilities of the guide to stability selection."""
    data = kp.datasets.make_wide(n_samples=500, n_features=2000, random_state=0)
    model = kp.StabilityPath(kp.LpKTASelector(bandwidth="std"), n_pairs=50).fit(data.X, data.y)
    figure = screenless((8, 4.4))
    kp.SelectionDisplay.from_model(model).draw_on(figure)
    figure.savefig(IMAGES / "stability.png", metadata=signed("png"))
    print(f"wrote {IMAGES.name}/stability.png: {model.stable_}")


def turning_back() -> None:
    """Keep the picture of the example of a path that turns back."""
    mpl.use("Agg")
    example = Path(__file__).parents[1] / "examples" / "plot_turning_back.py"
    runpy.run_path(str(example))["fig"].savefig(IMAGES / "l1kr-turning-back.png", dpi=150)
    print(f"wrote {IMAGES.name}/l1kr-turning-back.png")


def which_are_real() -> None:
    """Draw the volcano of the example "Which features are real?"."""
    example = Path(__file__).parents[1] / "examples" / "plot_which_are_real.py"
    test = runpy.run_path(str(example))["test"]
    save_significance(SignificanceDisplay.from_test(test), IMAGES / "which-are-real.png")
    print(f"wrote {IMAGES.name}/which-are-real.png: {test}")


def null_quantiles(n: int = 400, n_columns: int = 10_000) -> None:
    """Draw the p-values of columns without any relation to the target, of ten shapes."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from significance import SHAPES, targets

    rng, log_p = np.random.default_rng(0), []
    for shape in SHAPES.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantColumnWarning)
            test = kp.alignment_test(shape(rng, (n, n_columns)), targets(n)["a class of 10 %"])
        log_p.append(test.log_p[~np.isnan(test.z)])
    whole, ones = np.concatenate(log_p), np.ones(sum(map(len, log_p)))
    test = kp.AlignmentTest(ones, ones, whole, ones, ones)
    save_significance(SignificanceDisplay.from_test(test, kind="qq"), IMAGES / "null-qq.png")
    print(f"wrote {IMAGES.name}/null-qq.png: {test}")


def main() -> None:
    """Draw all pictures."""
    IMAGES.mkdir(exist_ok=True)
    demo()
    turning_back()
    stability()
    which_are_real()
    null_quantiles()
    how_many_features()


if __name__ == "__main__":
    main()
