"""Published methods as settings of the GMKL estimators."""

from __future__ import annotations

from typing import Any

from kernelpath.mkl.feasible_sets import Simplex
from kernelpath.mkl.regularizers import Lp, NoRegularizer

PRESETS: dict[str, dict[str, Any]] = {
    # Rakotomamonjy, Bach, Canu, Grandvalet, JMLR 2008: weights that sum to one.
    "simple_mkl": {
        "base_kernel": "simple_mkl",
        "feasible": Simplex(1.0),
        "regularizer": NoRegularizer(),
    },
    # Kloft, Brefeld, Sonnenburg, Zien, JMLR 2011.
    "lp_mkl": {"regularizer": Lp(4.0 / 3.0)},
    # Varma and Babu, ICML 2009; Jain, Vishwanathan, Varma, KDD 2012.
    "product_l1": {"kernel": "product"},
    "uniform": {"weights": "uniform"},
    # Cortes, Mohri, Rostamizadeh, JMLR 2012, Proposition 9.
    "centered_kta": {"weights": "centered_kta"},
    # Eq. (7) of the lp-KTA paper: lambda_2 is strength / p, and C is twice lambda_1.
    "square_loss_lp_mkl": {
        "loss": "least_squares",
        "regularizer": Lp(2.0),
        "exponents": 21,
    },
}
