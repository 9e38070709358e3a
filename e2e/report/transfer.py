"""What learning one domain after the other does to all of them. Pure.

After Lopez-Paz and Ranzato, "Gradient Episodic Memory" (arXiv 1706.08840): R[i][j] is the result on
domain j after phase i, and backward transfer the mean over all but the last domain of what became
of it between its own phase and the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

Matrix = Sequence[Sequence[float]]
"""[phases, domains], phase i being spent on domain i."""


def backward_transfer(matrix: Matrix) -> float:
    """Return mean over j < T of R[T][j] - R[j][j]; negative means forgetting."""
    _check_square(matrix)
    last = matrix[-1]
    return fmean(last[domain] - matrix[domain][domain] for domain in range(len(matrix) - 1))


def worst_domain(matrix: Matrix) -> float:
    """Return the lowest result at the end."""
    _check_square(matrix)
    return min(matrix[-1])


def _check_square(matrix: Matrix) -> None:
    if len(matrix) < 2 or any(len(row) != len(matrix) for row in matrix):
        shape = [len(row) for row in matrix]
        raise ValueError(
            f"rows have {shape} results, expected one per phase, of two phases or more"
        )
