"""The entries of the catalogue."""

from __future__ import annotations

from kernelpath.catalogue import makers
from kernelpath.catalogue.entry import CLASSES, NUMBERS, Method

_SKLEARN = "Pedregosa et al. Scikit-learn: machine learning in Python. JMLR, 2011."
ENTRIES = (
    Method(
        "lp-kta", "Generalized lp-KTA", "path",
        "generalized lp kernel-target alignment: non-linear effects, one feature at a time",
        "Jawanpuria, Varma, Nath. On p-norm path following in multiple kernel learning for "
        "non-linear feature selection. ICML, 2014.",
        "lp_kta", makers.lp_kta, text="kernel",
        settings=("kernel", "bandwidth", "statistic", "norm_strength", "bregman_strength",
                  "elimination_tol", "n_jobs", "must_include", "feature_groups", "costs"),
    ),
    Method(
        "additive", "Additive path", "path",
        "l1 path of a sum of non-linear functions, one a feature: features judged together",
        "Bach. Consistency of the group lasso and multiple kernel learning. Journal of Machine "
        "Learning Research, 2008.",
        "additive", makers.additive, text="kernel",
        settings=("kernel", "bandwidth", "n_jobs", "must_include", "feature_groups"),
    ),
    Method(
        "gmkl", "GMKL, sum of kernels", "path",
        "l1 path of a machine that learns a sum of kernels; in a comparison the order of entry",
        "Jain, Vishwanathan, Varma. SPG-GMKL: generalized multiple kernel learning with a million "
        "kernels. KDD, 2012.",
        "gmkl", makers.gmkl, makers.ranker("gmkl"), text="kernel",
        settings=("kernel", "C", "must_include", "feature_groups"),
    ),
    Method(
        "gmkl-product", "GMKL, product of kernels", "path",
        "l1 path of the widths of a product of kernels: effects of several features together",
        "Varma, Babu. More generality in efficient multiple kernel learning. ICML, 2009.",
        "gmkl", makers.gmkl_product, makers.ranker("gmkl-product"), settings=("C", "must_include"),
        weights_inside=True,
    ),
    Method(
        "nmmkl", "NMMKL", "choice",
        "non-monotonic multiple kernel learning: the best features for each size of its own",
        "Yang, Xu, Lyu, King. Budget constrained non-monotonic feature selection. Neural Networks, "
        "2015.",
        "nmmkl", makers.nmmkl, makers.nmmkl_compared, text="kernel",
        settings=("kernel", "C", "must_include", "feature_groups"),
    ),
    Method(
        "joint", "Joint path", "path",
        "features judged together, by the loss of rows left out in one kernel of them all",
        "Cawley, Talbot. Fast exact leave-one-out cross-validation of sparse least-squares support "
        "vector machines. Neural Networks, 2004.",
        "joint", makers.joint, text="kernel", settings=("must_include",),
    ),
    Method(
        "l1kr", "L1KR", "path",
        "weights inside one kernel of all features, along their l1 path",
        "Li, Sminchisescu. The feature selection path in kernel methods. AISTATS, 2010.",
        "l1kr", makers.l1kr, makers.ranker("l1kr"), most_classes=2, most_rows=1000,
        weights_inside=True,
    ),
    Method(
        "f-test", "F-test", "ranking",
        "F statistic of each feature: linear effects, or differences between class means",
        _SKLEARN, "command_line", makers.ranker("f-test"), text="codes",
    ),
    Method(
        "forest", "Random forest", "ranking",
        "impurity importance in a random forest of trees",
        "Breiman. Random forests. Machine Learning, 2001.",
        "command_line", makers.ranker("forest"), text="codes", settings=("seed",),
    ),
    Method(
        "mutual-info", "Mutual information", "ranking",
        "mutual information of each feature with the target, by nearest neighbours",
        "Ross. Mutual information between discrete and continuous data sets. PLoS ONE, 2014.",
        "command_line", makers.ranker("mutual-info"), text="codes", settings=("seed",),
    ),
    Method(
        "fisher", "Fisher score", "ranking",
        "distance of the class means relative to the spread; squared correlation",
        "Bishop. Neural Networks for Pattern Recognition. Oxford University Press, 1995.",
        "baselines", makers.baseline("Fisher", takes_task=True),
    ),
    Method(
        "hsic-lasso", "HSIC Lasso", "ranking",
        "order of entry on the l1 path of a sum of kernels that is to be the target's",
        "Yamada, Jitkrittum, Sigal, Xing, Sugiyama. High-dimensional feature selection by "
        "feature-wise kernelized lasso. Neural Computation, 2014.",
        "baselines", makers.baseline("HSICLasso", takes_task=True),
    ),
    Method(
        "bahsic", "BAHSIC", "ranking",
        "backward elimination by the dependence of all features together on the target",
        "Song, Smola, Gretton, Bedo, Borgwardt. Feature selection via dependence maximization. "
        "Journal of Machine Learning Research, 2012.",
        "baselines", makers.baseline("BAHSIC", takes_task=True), most_rows=5000,
    ),
    Method(
        "hkl", "Hierarchical kernel learning", "path",
        "kernels of features and of their products, each chosen after its parts",
        "Bach. Exploring large feature spaces with hierarchical multiple kernel learning. Advances "
        "in Neural Information Processing Systems, 2009.",
        "baselines", makers.hkl, most_classes=2, most_rows=1000,
    ),
    Method(
        "svm-lw", "SVM, largest weights", "ranking",
        "largest weights of a linear support vector machine",
        "Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using support "
        "vector machines. Machine Learning, 2002.",
        "baselines", makers.baseline("SVMLW"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "svr-lw", "SVR, largest weights", "ranking",
        "largest weights of linear support vector regression",
        "Smola, Schölkopf. A tutorial on support vector regression. Statistics and Computing, "
        "2004.",
        "baselines", makers.baseline("SVRLW"), tasks=(NUMBERS,), settings=("C",),
    ),
    Method(
        "lasso-lw", "Lasso, largest weights", "ranking",
        "largest weights of the lasso, then the order of entry",
        "Tibshirani. Regression shrinkage and selection via the lasso. Journal of the Royal "
        "Statistical Society, Series B, 1996.",
        "baselines", makers.baseline("LassoLW"), tasks=(NUMBERS,),
    ),
    Method(
        "l1-svm", "SVM with the 1-norm", "ranking",
        "weights of a support vector machine with the 1-norm",
        "Fung, Mangasarian. A feature selection Newton method for support vector machine "
        "classification. Computational Optimization and Applications, 2004.",
        "baselines", makers.baseline("L1SVM"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "l1-svm-path", "SVM with the 1-norm, whole path", "path",
        "exact path of a linear support vector machine over the 1-norm of its weights",
        "Zhu, Rosset, Hastie, Tibshirani. 1-norm support vector machines. Advances in Neural "
        "Information Processing Systems, 2003.",
        "baselines", makers.own_path("L1SVMPath"), tasks=(CLASSES,), most_classes=2,
    ),
    Method(
        "l1-mkl-path", "l1 multiple kernel learning, whole path", "path",
        "path of logistic multiple kernel learning over the strength of its l1 norm",
        "Bach, Thibaux, Jordan. Computing regularization paths for learning multiple kernels. "
        "Advances in Neural Information Processing Systems, 2004.",
        "baselines", makers.own_path("L1MKLPath"), tasks=(CLASSES,), most_classes=2,
    ),
    Method(
        "smo-mkl", "SMO-MKL", "ranking",
        "weights of a learned sum of kernels whose squared p-norm is penalised",
        "Vishwanathan, Sun, Ampornpunt, Varma. Multiple kernel learning and the SMO algorithm. "
        "Advances in Neural Information Processing Systems, 2010.",
        "baselines", makers.baseline("SMOMKL"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "fsv", "FSV", "ranking",
        "weights of a machine with a concave count of features in its objective",
        "Bradley, Mangasarian. Feature selection via concave minimization and support vector "
        "machines. ICML, 1998.",
        "baselines", makers.baseline("FSV"), tasks=(CLASSES,),
    ),
    Method(
        "l0-approximation", "l0 approximation", "ranking",
        "how long a feature survives when columns are scaled by the last weights",
        "Weston, Elisseeff, Schölkopf, Tipping. Use of the zero-norm with linear models and kernel "
        "methods. Journal of Machine Learning Research, 2003.",
        "baselines", makers.baseline("L0Approximation"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "r2w2", "R2W2", "ranking",
        "scales that minimise radius times norm, a bound of the leave-one-out error",
        "Weston, Mukherjee, Chapelle, Pontil, Poggio, Vapnik. Feature selection for SVMs. Advances "
        "in Neural Information Processing Systems, 2000.",
        "baselines", makers.baseline("R2W2"), tasks=(CLASSES,), settings=("C",),
    ),
    Method(
        "forward-stepwise", "Forward stepwise", "ranking",
        "order of entry by partial F-tests",
        "Guyon, Elisseeff. An introduction to variable and feature selection. Journal of Machine "
        "Learning Research, 2003.",
        "baselines", makers.baseline("ForwardStepwise"), most_classes=2,
    ),
    Method(
        "information-gain", "Information gain", "ranking",
        "mutual information of the target and each feature, cut where the classes change",
        "Fayyad, Irani. Multi-interval discretization of continuous-valued attributes for "
        "classification learning. IJCAI, 1993.",
        "baselines", makers.baseline("InformationGain", takes_task=True),
    ),
    Method(
        "chi-square", "Chi-square", "ranking",
        "chi-square statistic of counts: how they are spread over the classes",
        "Liu, Setiono. Chi2: feature selection and discretization of numeric attributes. IEEE "
        "International Conference on Tools with Artificial Intelligence, 1995.",
        "baselines", makers.baseline("ChiSquare"), tasks=(CLASSES,),
    ),
    Method(
        "gini", "Gini index", "ranking",
        "decrease of the impurity of the classes at the best cut of each feature",
        "Breiman, Friedman, Olshen, Stone. Classification and Regression Trees. Wadsworth, 1984.",
        "baselines", makers.baseline("GiniIndex"), tasks=(CLASSES,),
    ),
    Method(
        "kruskal-wallis", "Kruskal-Wallis", "ranking",
        "distance of the mean ranks of the classes, for each feature",
        "Kruskal, Wallis. Use of ranks in one-criterion variance analysis. Journal of the American "
        "Statistical Association, 1952.",
        "baselines", makers.baseline("KruskalWallis"), tasks=(CLASSES,),
    ),
    Method(
        "mrmr", "mRMR", "ranking",
        "order of entry by information about the target, less that about features before",
        "Peng, Long, Ding. Feature selection based on mutual information: criteria of "
        "max-dependency, max-relevance, and min-redundancy. IEEE Transactions on Pattern Analysis "
        "and Machine Intelligence, 2005.",
        "baselines", makers.baseline("MRMR", takes_task=True),
    ),
    Method(
        "relieff", "ReliefF", "ranking",
        "differences between near rows of several classes, less those within a class",
        "Robnik-Šikonja, Kononenko. Theoretical and empirical analysis of ReliefF and RReliefF. "
        "Machine Learning, 2003.",
        "baselines", makers.baseline("ReliefF", takes_task=True),
    ),
    Method(
        "spectral", "SPEC", "ranking",
        "smoothness over a graph of rows with similar targets",
        "Zhao, Liu. Spectral feature selection for supervised and unsupervised learning. ICML, "
        "2007.",
        "baselines", makers.baseline("Spectral", takes_task=True),
    ),
    Method(
        "permutation-importance", "Permutation importance", "ranking",
        "how much worse a forest predicts rows left out where a feature is shuffled",
        "Breiman. Random forests. Machine Learning, 2001.",
        "baselines", makers.baseline("PermutationImportance", takes_task=True),
    ),
    Method(
        "rfe-svm", "SVM-RFE", "ranking",
        "backward elimination by the weights of a linear machine, fitted again in every round",
        "Guyon, Weston, Barnhill, Vapnik. Gene selection for cancer classification using support "
        "vector machines. Machine Learning, 2002.",
        "baselines", makers.baseline("RFESVM", takes_task=True), settings=("C",),
    ),
    Method(
        "variance-filter", "Variance", "ranking",
        "variance of each column as it is; the target is not looked at",
        _SKLEARN, "baselines", makers.baseline("VarianceFilter", takes_task=True),
    ),
    Method(
        "cars", "CARS", "ranking",
        "how long a feature survives a competition by the coefficients of partial least squares",
        "Li, Liang, Xu, Cao. Key wavelengths screening using competitive adaptive reweighted "
        "sampling method for multivariate calibration. Analytica Chimica Acta, 2009.",
        "baselines", makers.baseline("CARS", takes_task=True),
    ),
    Method(
        "centered-kta", "Centered KTA", "ranking",
        "weights of the sum of one-feature kernels that is best aligned with the target",
        "Cortes, Mohri, Rostamizadeh. Algorithms for learning kernels based on centered alignment. "
        "Journal of Machine Learning Research, 2012.",
        "baselines", makers.baseline("CenteredKTA", takes_task=True),
    ),
    Method(
        "uniform", "Uniform", "ranking",
        "the same weight for all columns: the reference of all of them, with no order of its own",
        "Jawanpuria, Varma, Nath. On p-norm path following in multiple kernel learning for "
        "non-linear feature selection. ICML, 2014.",
        "baselines", makers.baseline("Uniform", takes_task=True),
    ),
    Method(
        "boruta", "Boruta", "ranking",
        "features that matter more to a forest than shuffled copies do",
        "Kursa, Rudnicki. Feature selection with the Boruta package. Journal of Statistical "
        "Software, 2010.",
        "baselines", makers.adapter("Boruta"), needs="boruta",
    ),
    Method(
        "fastcan", "FastCan", "ranking",
        "forward selection by the canonical correlation with the target",
        "Zhang, Wang, Worden, Sun, Cross. Canonical-correlation-based fast feature selection for "
        "structural health monitoring. Mechanical Systems and Signal Processing, 2025.",
        "baselines", makers.adapter("FastCan"), needs="fastcan",
    ),
    Method(
        "abess", "Abess", "ranking",
        "best subsets by splicing: the smallest size whose subset holds a feature",
        "Zhu, Wen, Zhu, Zhang, Wang. A polynomial algorithm for best-subset selection problem. "
        "Proceedings of the National Academy of Sciences, 2020.",
        "baselines", makers.adapter("Abess"), needs="abess",
    ),
)  # fmt: skip
