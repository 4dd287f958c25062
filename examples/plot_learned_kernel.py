"""Which features act only together?

In the XOR problem two features decide the class together, and neither says anything alone. A sum of
one kernel per feature cannot see that; a product can, and its weights name the two features.
"""

import matplotlib.pyplot as plt

import kernelpath as kp

data = kp.datasets.make_xor(n_samples=400, n_features=20, order=2, random_state=0)
X, y, X_new, y_new = data.X[:250], data.y[:250], data.X[250:], data.y[250:]

single = kp.GMKLClassifier(C=10.0).fit(X, y)
product = kp.GMKLClassifier.preset("product_l1", C=10.0).fit(X, y)

print(f"relevant features         {sorted(data.relevant.tolist())}")
print(f"sum of kernels            {single.score(X_new, y_new):.2f} on new rows")
print(f"product of kernels        {product.score(X_new, y_new):.2f} on new rows")
heaviest = product.feature_importances_.argsort()[::-1][:2]
print(f"two heaviest weights      {sorted(heaviest.tolist())}")

fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for place, (model, name) in enumerate([(single, "sum"), (product, "product")]):
    share = model.feature_importances_ / model.feature_importances_.max()
    ax.bar([j + 0.4 * place for j in range(20)], share, width=0.4, label=f"{name} of kernels")
ax.set(xlabel="feature", ylabel="weight, relative to the largest", xticks=range(20))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
# fig.savefig("learned_kernel.png") keeps the picture
