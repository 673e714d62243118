"""`make paper`: the paper's numbers, computed with the public interface."""

from __future__ import annotations

import leastnoise as ln
from leastnoise import baselines

DELTAS = (1e-2, 1e-4, 1e-6, 1e-9)


def main() -> None:
    print("Variance of the classical sigma over the analytic one (claim: 1.4 or more near epsilon = 1,")
    print("orders of magnitude as epsilon -> 0)\n")
    print("epsilon   " + "".join(f"delta {delta:<9g}" for delta in DELTAS))
    for epsilon in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99):
        gains = [
            (baselines.classical_sigma(epsilon=epsilon, delta=d) / ln.sigma(epsilon=epsilon, delta=d)) ** 2
            for d in DELTAS
        ]
        print(f"{epsilon:<10g}" + "".join(f"{gain:<15.4g}" for gain in gains))


main()
