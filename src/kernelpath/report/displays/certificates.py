"""Picture of how optimal the points of a path are.  Stored data first, drawn by ``plot``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpath.report.displays._canvas import (
    FAINT,
    GREY,
    PALETTE,
    Picture,
    dressed,
    floats,
    plain_text,
)
from kernelpath.report.displays._canvas import write_sentence as sentence
from kernelpath.report.displays.path import End, label_ends, parameter_label, scale_along

ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class CertificateDisplay(Picture):
    """KKT residual and gap along the path, on a logarithmic axis.

    A zero has no logarithm: it is drawn at the bottom, on a line that says so.

    Attributes
    ----------
    parameters, kkt, gap : ndarray of shape (n_points,)
        NaN where unknown.
    parameter_name : str

    Examples
    --------
    >>> display = CertificateDisplay(
    ...     np.array([2.0, 1.0]), np.array([1e-15, 0.0]), np.array([1e-4, np.nan]), "p"
    ... )
    >>> display.floor
    1e-18
    """

    parameters: NDArray[np.float64]
    kkt: NDArray[np.float64]
    gap: NDArray[np.float64]
    parameter_name: str

    _sentence: ClassVar[str] = "No point of the path says how optimal it is."

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> CertificateDisplay:
        """Take the certificates of the points."""
        points = summary["points"]
        return cls(
            parameters=floats(points["parameter"]),
            kkt=floats(points["kkt"]),
            gap=floats(points["gap"]),
            parameter_name=summary["parameter_name"],
        )

    @property
    def known(self) -> bool:
        """Whether any point has a certificate."""
        told = np.isfinite(self.parameters)
        return bool(np.isfinite(self.kkt[told]).any() or np.isfinite(self.gap[told]).any())

    @property
    def floor(self) -> float:
        """Where zeros are drawn."""
        low, high = self._decades()
        return float(f"1e{low - max(2, round(0.14 * (high - low)))}")

    def _decades(self) -> tuple[int, int]:
        """Powers of ten around all positive numbers and the error of rounding."""
        values = np.concatenate([self.kkt, self.gap, [ROUNDING]])
        seen = np.log10(values[values > 0])
        return int(np.floor(seen.min())), int(np.ceil(seen.max() + 0.15))

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        if not self.known:
            return sentence(ax, self._sentence)
        dressed(ax)
        ax.set_yscale("log")
        x, (low, high) = self.parameters, self._decades()
        zeros = bool(np.any(self.kkt <= 0) or np.any(self.gap <= 0))
        scale_along(ax, x)
        ax.set_ylim(self.floor / 10 ** (0.04 * (high - low)) if zeros else 10.0**low, 10.0**high)
        step = -(-(high - low) // 8)
        ticks = list(range(high, low - 1, -step))
        places, words = [10.0**tick for tick in ticks], [f"1e{tick}" for tick in ticks]
        ax.set_yticks(places, words)
        ax.minorticks_off()
        ends = [End(ROUNDING, -1, FAINT, "rounding error")]
        for name, values, color in (
            ("KKT residual", self.kkt, PALETTE[0]),
            ("gap", self.gap, PALETTE[1]),
        ):
            if np.isfinite(values[np.isfinite(x)]).any():
                ends.append(self._draw_line(ax, values, color, name))
        self._write_notes(ax, zeros)
        label_ends(ax, ends, x)
        plain_text(ax.set_xlabel(parameter_label(self.parameter_name)))
        bounded = bool(np.isfinite(self.gap).any())  # else other optima are not excluded
        ax.set_ylabel("distance from the optimum" if bounded else "residual")
        ax.set_title(f"How {'optimal' if bounded else 'exact'} the points are", loc="left")
        return ax

    def _draw_line(self, ax: Any, values: NDArray[np.float64], color: str, name: str) -> End:
        """A line through positive numbers, marks at zeros; where its name is to go."""
        x = self.parameters
        positive = np.where(values > 0, values, np.nan)
        size = 3.0 if len(x) > 40 else 4.5
        marker: dict[str, Any] = {"marker": "o", "ms": size, "clip_on": False}
        ax.plot(x, positive, color=color, lw=1.5, zorder=3, label=name, **marker)
        zero = np.where(values <= 0, self.floor, np.nan)
        # Dots of one line within the rings of the other.
        ring = {"ms": size + 2, "mfc": "white", "zorder": 4} if name == "gap" else {}
        if np.isfinite(zero).any():
            ax.plot(x, zero, color=color, ls="none", **({"zorder": 5} | marker | ring))
        drawn = np.where(values > 0, values, zero)
        last = int(np.flatnonzero(np.isfinite(drawn) & np.isfinite(x))[-1])
        return End(float(drawn[last]), last, color, name)

    def _write_notes(self, ax: Any, zeros: bool) -> None:
        """What the two horizontal lines mean."""
        edge = ax.get_yaxis_transform()
        style = {"color": FAINT, "fontsize": 8.5, "transform": edge, "zorder": 5}
        style["bbox"] = {"fc": "white", "ec": "none", "alpha": 0.85, "pad": 0.8}
        ax.axhline(ROUNDING, color=GREY, lw=1.0, ls=(0, (5, 3)), zorder=2)
        if zeros:
            low, high = np.log10(ax.get_ylim())
            ax.axhline(self.floor, color=GREY, lw=1.0, ls=":", zorder=2)
            ax.text(0.015, self.floor * 10 ** (0.03 * (high - low)), "exact zeros, drawn here",
                    va="bottom", **style)  # fmt: skip
