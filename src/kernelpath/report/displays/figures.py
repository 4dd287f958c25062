"""All pictures of a summary at once, drawn without a screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kernelpath.report.displays._canvas import Picture, any_glyph, screenless
from kernelpath.report.displays.accuracy import AccuracyDisplay
from kernelpath.report.displays.certificates import CertificateDisplay
from kernelpath.report.displays.entries import EntriesDisplay
from kernelpath.report.displays.path import SizeDisplay, WeightsDisplay
from kernelpath.report.displays.redundancy import RedundancyDisplay
from kernelpath.report.displays.stability import StabilityDisplay
from kernelpath.report.displays.views import ViewsDisplay
from kernelpath.utils.progress import working


class _FromSummary(Protocol):
    def from_summary(self, summary: Mapping[str, Any]) -> Picture: ...


DISPLAYS: dict[str, _FromSummary] = {
    "accuracy": AccuracyDisplay,
    "sizes": SizeDisplay,
    "weights": WeightsDisplay,
    "entries": EntriesDisplay,
    "stability": StabilityDisplay,
    "views": ViewsDisplay,
    "redundancy": RedundancyDisplay,
    "certificates": CertificateDisplay,
}


@working("pictures")
def report_figures(summary: Mapping[str, Any], *, dpi: float = 150) -> dict[str, Any]:
    """Draw every display that the summary has data for.

    Parameters
    ----------
    summary : dict
        As ``path.summary()`` and ``PathCV.summary()`` return it.
    dpi : float
        Resolution of the figures.

    Returns
    -------
    dict of str to matplotlib Figure
        pyplot does not know these figures; there is nothing to close.

    Examples
    --------
    >>> import kernelpath as kp
    >>> from kernelpath.report.summary import summarize_path
    >>> data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    >>> path = kp.LpKTASelector().fit(data.X, data.y).path_
    >>> list(report_figures(summarize_path(path, data.X, data.y)))
    ['sizes', 'weights', 'entries', 'views', 'redundancy', 'certificates']
    """
    figures = {}
    for name, display in DISPLAYS.items():
        picture = display.from_summary(summary)
        if picture.known:
            figures[name] = screenless(picture.figure_size, dpi)
            picture.draw_on(figures[name])
    return figures


def save_figure(figure: Any, file: Any, format: str = "png") -> None:
    """Write a figure of :func:`report_figures` to a file or file object."""
    with any_glyph():
        figure.savefig(file, format=format)
