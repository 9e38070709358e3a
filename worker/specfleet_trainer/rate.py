"""Positions per second over the last seconds, waiting included."""

from __future__ import annotations

from collections import deque


class Rate:
    """Counts amounts at times that never go back."""

    def __init__(self, *, window_seconds: float, now: float) -> None:
        self._window_seconds = window_seconds
        self._started = now
        self._amounts: deque[tuple[float, int]] = deque()

    def add(self, amount: int, *, now: float) -> None:
        """Count what was done until `now`."""
        self._amounts.append((now, amount))

    def per_second(self, *, now: float) -> float:
        """Return the mean over the window, or since the start when that is shorter."""
        while self._amounts and self._amounts[0][0] <= now - self._window_seconds:
            self._amounts.popleft()
        seconds = min(self._window_seconds, now - self._started)
        return sum(amount for _, amount in self._amounts) / seconds if seconds > 0 else 0.0
