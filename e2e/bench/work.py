"""The work of one training step of the product, as operations of the roofline. Pure.

Beside products and passes over the weights only what every implementation has to do: operators
between the products read what goes in once and write what comes out once. What can be part of its
neighbour (adding residuals, joining, copies, masks) costs nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass

from e2e.bench.roofline import Work, product
from e2e.bench.shapes import Shape

OPTIMISER_BYTES = 38
"""Of each weight: AdamW reads four numbers of 4 bytes and writes three, the norm of the gradient
reads one, and the copy in the type that is computed in reads 4 bytes and writes 2."""
GRADIENT_BYTES = 4
CONTEXT_MATRICES = ("input_proj", "k_proj", "v_proj")
"""Those that run over all rows of a batch at the first depth; the others over its queries only."""


@dataclass(frozen=True, slots=True)
class StepSize:
    """What one step runs over."""

    rows: int
    queries: int
    depths: int
    item_bytes: int
    """Of a number that is computed with."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a row's loss looks at: tokens that all rows share, and some of its own."""

    shared: int
    own: int
    searches: float
    """For each step, how often the own tokens of as many rows are searched in all tokens."""


def step_work(shape: Shape, size: StepSize, looked: Looked) -> list[Work]:
    """Return a step's products with matrices, what is between, and the pass over all weights."""
    forward = _forward(shape, size)
    loss = [_logits(shape, size, looked.shared), _own_logits(shape, size, looked.own)]
    search = _logits(shape, size, shape.vocabulary)
    return [
        *forward,
        *loss,
        # The gradients of what went in are products of the same sizes.
        *loss,
        *forward,
        *_weight_gradients(shape, size),
        Work(search.name, search.flops * looked.searches, search.bytes * looked.searches),
        *_between(shape, size, looked),
        Work("optimiser", 0.0, float(OPTIMISER_BYTES * shape.weights)),
    ]


def _between(shape: Shape, size: StepSize, looked: Looked) -> list[Work]:
    """Return the passes over activations, forward and backward together."""
    context = size.rows + size.queries * (size.depths - 1)
    queries = size.queries * size.depths
    query, key = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
    # Forward in, out; backward in, gradient in, gradient out. The first two norms of a row begin
    # with what is not trained.
    norms = shape.hidden * ((2 + 2) * 2 * context + (2 + 3) * (context + 2 * queries))
    rotations = 4 * (query * queries + key * context)
    # Query, keys and values in, mixed values out; the same and their gradients backward.
    attention = (2 + 4) * query * queries + (2 + 4) * key * context
    # Gate and up in, their product out; both and the gradient in, two gradients out.
    gates = (3 + 5) * shape.intermediate * queries
    softmax = 2 * looked.shared * queries
    numbers = {
        "norms": norms,
        "rotations": rotations,
        "attention": attention,
        "gates": gates,
        "softmax": softmax,
    }
    return [Work(name, 0.0, float(count * size.item_bytes)) for name, count in numbers.items()]


def _uses(size: StepSize, name: str) -> list[int]:
    """Return over how many rows a matrix is used at each depth."""
    first = size.rows if name in CONTEXT_MATRICES else size.queries
    return [first, *[size.queries] * (size.depths - 1)]


def _forward(shape: Shape, size: StepSize) -> list[Work]:
    return [
        product(name, rows, inner, outer, item_bytes=size.item_bytes)
        for name, (inner, outer) in shape.matrices.items()
        for rows in _uses(size, name)
    ]


def _weight_gradients(shape: Shape, size: StepSize) -> list[Work]:
    """Return one product for each matrix over the rows of all its uses, written in float32."""
    gradients = []
    for name, (inner, outer) in shape.matrices.items():
        rows = sum(_uses(size, name))
        moved = rows * (inner + outer) * size.item_bytes + inner * outer * GRADIENT_BYTES
        gradients.append(Work(name, 2.0 * rows * inner * outer, float(moved)))
    return gradients


def _logits(shape: Shape, size: StepSize, tokens: int) -> Work:
    rows = size.queries * size.depths
    return product("lm_head", rows, shape.hidden, tokens, item_bytes=size.item_bytes)


def _own_logits(shape: Shape, size: StepSize, own: int) -> Work:
    numbers = size.queries * size.depths * own * shape.hidden
    return Work("own tokens", 2.0 * numbers, float(numbers * size.item_bytes))
