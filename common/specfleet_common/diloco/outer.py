"""The outer optimiser of DiLoCo (arXiv 2311.08105): Nesterov momentum on the workers' mean delta.

A delta is global minus local, so it points up the loss like a gradient. Float32 throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from specfleet_common.codecs.deltas import Delta
from specfleet_common.tensors import Array, TensorMap, blocks, check_shapes

THREADS = 2
"""Tensors computed at a time."""


@dataclass(frozen=True, slots=True)
class OuterState:
    """Global parameters (theta) and velocity (v), with the same names and shapes."""

    parameters: TensorMap
    velocity: TensorMap


def initial_state(parameters: TensorMap) -> OuterState:
    """Return the state before the first step: no velocity."""
    return OuterState(parameters, {name: np.zeros_like(p) for name, p in parameters.items()})


def outer_step(state: OuterState, delta: Delta, *, lr: float, momentum: float) -> OuterState:
    """Return the state after one step: v <- m*v + d; theta <- theta - lr*(d + m*v).

    Each block of `delta` is asked for once, by one of a few threads: it may be computed then.
    """
    check_shapes(delta.shapes, {name: theta.shape for name, theta in state.parameters.items()})

    def step(name: str) -> tuple[Array, Array]:
        theta, v = state.parameters[name], state.velocity[name]
        return _step(theta, v, delta.blocks(name), lr, momentum)

    with ThreadPoolExecutor(THREADS) as pool:
        stepped = dict(zip(state.parameters, pool.map(step, state.parameters), strict=True))
    return OuterState(
        parameters={name: theta for name, (theta, _) in stepped.items()},
        velocity={name: v for name, (_, v) in stepped.items()},
    )


def _step(
    theta: Array, v: Array, d: Iterator[Array], lr: float, momentum: float
) -> tuple[Array, Array]:
    m, rate = np.float32(momentum), np.float32(lr)
    new_theta, new_v = np.empty(theta.shape, np.float32), np.empty(theta.shape, np.float32)
    for old_theta, old_v, step, out_theta, out_v in zip(
        blocks(theta), blocks(v), d, blocks(new_theta), blocks(new_v), strict=True
    ):
        # m*v + d, and theta - lr*(d + m*v), without memory for what is in between.
        np.multiply(old_v, m, out=out_v)
        np.add(out_v, step, out=out_v)
        np.multiply(out_v, m, out=out_theta)
        np.add(out_theta, step, out=out_theta)
        np.multiply(out_theta, rate, out=out_theta)
        np.subtract(old_theta, out_theta, out=out_theta)
    return new_theta, new_v
