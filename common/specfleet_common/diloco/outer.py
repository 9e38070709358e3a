"""The outer optimiser of DiLoCo (arXiv 2311.08105): Nesterov momentum on the workers' mean delta.

A delta is global minus local, so it points up the loss like a gradient. Float32 throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specfleet_common.tensors import Array, TensorMap, blocks, check_shapes


@dataclass(frozen=True, slots=True)
class OuterState:
    """Global parameters (theta) and velocity (v), with the same names and shapes."""

    parameters: TensorMap
    velocity: TensorMap


def initial_state(parameters: TensorMap) -> OuterState:
    """Return the state before the first step: no velocity."""
    return OuterState(parameters, {name: np.zeros_like(p) for name, p in parameters.items()})


def outer_step(state: OuterState, delta: TensorMap, *, lr: float, momentum: float) -> OuterState:
    """Return the state after one step: v <- m*v + d; theta <- theta - lr*(d + m*v).

    Each tensor of `delta` is asked for once, so it may be computed on the way.
    """
    parameters: dict[str, Array] = {}
    velocity: dict[str, Array] = {}
    for name, theta in state.parameters.items():
        d = delta[name]
        check_shapes({name: d.shape}, {name: theta.shape})
        parameters[name], velocity[name] = _step(theta, state.velocity[name], d, lr, momentum)
    return OuterState(parameters, velocity)


def _step(theta: Array, v: Array, d: Array, lr: float, momentum: float) -> tuple[Array, Array]:
    m, rate = np.float32(momentum), np.float32(lr)
    new_theta, new_v = np.empty(theta.shape, np.float32), np.empty(theta.shape, np.float32)
    for old_theta, old_v, step, out_theta, out_v in zip(
        blocks(theta), blocks(v), blocks(d), blocks(new_theta), blocks(new_v), strict=True
    ):
        out_v[:] = m * old_v + step
        out_theta[:] = old_theta - rate * (step + m * out_v)
    return new_theta, new_v
