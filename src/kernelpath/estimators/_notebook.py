"""How fitted estimators show themselves in a notebook: scikit-learn's diagram, then the result."""

from __future__ import annotations

from typing import Any


class NotebookCard:
    """Adds the headline, a curve and the heaviest features to the diagram of an estimator."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._card()
        return bundle

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._card()  # type: ignore[misc]

    def _card(self) -> str:
        from kernelpath.report.notebook import card, path_card

        if hasattr(self, "operating_point_"):
            return card(self.summary())  # type: ignore[attr-defined]
        return path_card(self.path_) if hasattr(self, "path_") else ""
