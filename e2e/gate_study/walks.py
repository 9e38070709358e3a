"""Conversations whose requests two heads walk: difficulty comes in bursts, luck is shared.

Position t of a request has a difficulty; the draft of depth k made at t is right when difficulty,
what the head adds, and luck are above zero together, and all drafts before it were right. Luck
belongs to the position, so that two heads disagree only by what they add themselves. The walks are
then made as an engine makes them: draft, accept, jump.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specfleet_common.judge.totals import Numbers

Integers = NDArray[np.int64]

DEPTHS = 3
_DEPTH_PENALTY = 0.35
_BURST_POSITIONS = 8
_FIRST_STEP = 0.05
_CLOSE_ENOUGH = 1e-4


@dataclass(frozen=True, slots=True)
class World:
    """How requests are and how the candidate differs from stable; logits unless said otherwise."""

    base: float = 0.8
    request_spread: float = 0.45
    burst_spread: float = 1.2
    shift: float = 0.0
    """What the candidate adds everywhere: its gain."""
    easy_shift: float = 0.0
    """What it adds where difficulty is low, and takes away, weighed by `hard_factor`, elsewhere."""
    hard_factor: float = 0.0
    disagreement: float = 0.07
    """The spread of what each head adds of its own at every draft."""
    conversation_spread: float = 0.0
    """The spread of what the candidate adds to whole conversations: makes requests correlated."""
    mean_tokens: float = 150.0
    length_spread: float = 0.8
    """Of the logarithm of a request's tokens."""
    longest: int = 4000
    requests_each: int = 1
    """Requests of a conversation."""


_ARRAYS = ("tokens", "stable", "candidate", "stable_positions", "candidate_positions")


@dataclass(frozen=True, slots=True)
class Walked:
    """Walks of [conversations, requests]; requests that do not exist have no tokens."""

    tokens: Numbers
    stable: Numbers
    candidate: Numbers
    stable_positions: Numbers
    """Tokens per verify step at every position, visited or not, added up."""
    candidate_positions: Numbers
    positions_differ: float
    """The share of positions at which the heads would have accepted differently."""

    @property
    def gain(self) -> float:
        """Return the candidate's true gain in tokens per verify step in this pool."""
        return float(self.stable.sum() / self.candidate.sum()) - 1

    @property
    def gain_over_positions(self) -> float:
        """Return what its gain looks like when every position is scored."""
        return float(self.candidate_positions.sum() / self.stable_positions.sum()) - 1

    @property
    def correlation(self) -> float:
        """Return the intraclass correlation of the difference between the heads' steps."""
        difference = self.stable - (1 + self.gain) * self.candidate
        each = difference.shape[1]
        within = difference.var(axis=1, ddof=1).mean()
        between = difference.mean(axis=1).var(ddof=1) - within / each
        return float(between / (between + within))

    def first(self, conversations: int) -> Walked:
        """Return the first of these conversations."""
        return replace(self, **{name: getattr(self, name)[:conversations] for name in _ARRAYS})


def joined(pools: list[Walked]) -> Walked:
    """Return the conversations of several pools in one."""
    parts = {name: np.concatenate([getattr(p, name) for p in pools]) for name in _ARRAYS}
    return replace(pools[0], **parts)


def walk(world: World, conversations: int, rng: np.random.Generator) -> Walked:
    """Draw conversations and walk them with both heads."""
    shape = (conversations, world.requests_each)
    spread = world.length_spread
    lengths = np.exp(rng.normal(np.log(world.mean_tokens) - spread**2 / 2, spread, shape))
    tokens = np.clip(lengths, 8, world.longest).astype(np.int64)
    flat = tokens.ravel()
    ends = np.cumsum(flat)
    starts = ends - flat
    request = np.repeat(np.arange(flat.size), flat)
    difficulty = _difficulty(world, request, starts, rng)
    luck = rng.logistic(size=difficulty.size).astype(np.float32)
    own = rng.normal(0, world.conversation_spread, conversations)
    own_shift = np.repeat(own, world.requests_each)[request]
    easy = difficulty > world.base
    candidate_shift = (
        world.shift + own_shift + world.easy_shift * np.where(easy, 1.0, -world.hard_factor)
    ).astype(np.float32)
    prefixes = [
        _prefixes(difficulty + luck, shift, world.disagreement, rng)
        for shift in (np.zeros(1, np.float32), candidate_shift)
    ]
    stable, candidate = (_steps(prefix, starts, ends).reshape(shape) for prefix in prefixes)
    over_positions = [
        (flat + np.add.reduceat(prefix, starts)).reshape(shape).astype(np.float64)
        for prefix in prefixes
    ]
    return Walked(
        tokens=tokens.astype(np.float64),
        stable=stable.astype(np.float64),
        candidate=candidate.astype(np.float64),
        stable_positions=over_positions[0],
        candidate_positions=over_positions[1],
        positions_differ=float((prefixes[0] != prefixes[1]).mean()),
    )


def walk_with_gain(world: World, gain: float, conversations: int, seed: int) -> Walked:
    """Return walks whose true gain is `gain` within a ten-thousandth, by shifting the candidate."""

    def moved(shift: float) -> Walked:
        return walk(replace(world, shift=shift), conversations, np.random.default_rng(seed))

    before, shift = world.shift, world.shift + _FIRST_STEP
    found_before, found = moved(before).gain, moved(shift)
    while abs(found.gain - gain) > _CLOSE_ENOUGH:
        slope = (found.gain - found_before) / (shift - before)
        before, found_before = shift, found.gain
        shift += (gain - found.gain) / slope
        found = moved(shift)
    return found


def _difficulty(
    world: World, request: Integers, starts: Integers, rng: np.random.Generator
) -> NDArray[np.float32]:
    begins = rng.random(request.size) < 1 / _BURST_POSITIONS
    begins[starts] = True
    burst = np.cumsum(begins) - 1
    of_request = rng.normal(0, world.request_spread, starts.size).astype(np.float32)
    of_burst = rng.normal(0, world.burst_spread, burst[-1] + 1).astype(np.float32)
    return np.asarray(world.base + of_request[request] + of_burst[burst], np.float32)


def _prefixes(
    ease: NDArray[np.float32],
    shift: NDArray[np.float32],
    disagreement: float,
    rng: np.random.Generator,
) -> Integers:
    """Return how many drafts made at each position would be accepted."""
    shifted = ease + shift
    prefix = np.zeros(ease.size, np.int64)
    alive = np.ones(ease.size, bool)
    for depth in range(DEPTHS):
        there = np.concatenate([shifted[depth:], shifted[:depth]])
        noise = disagreement * rng.standard_normal(ease.size, dtype=np.float32)
        alive &= there + noise > _DEPTH_PENALTY * depth
        prefix += alive
    return prefix


def _steps(prefix: Integers, starts: Integers, ends: Integers) -> Integers:
    """Walk all requests side by side and return the verify steps of each."""
    position = starts.copy()
    steps = np.zeros(starts.size, np.int64)
    walking = np.arange(starts.size)
    while walking.size:
        position[walking] += prefix[position[walking]] + 1
        steps[walking] += 1
        walking = walking[position[walking] < ends[walking]]
    return steps
