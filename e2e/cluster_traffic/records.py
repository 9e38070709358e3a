"""What is remembered of each request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """One request; times are those of the driver's clock, in seconds since 1970."""

    number: int
    began: float
    seconds: float
    status: int | None
    """HTTP status, None when there was no answer."""
    failure: str = ""
    """Why the request failed, in the same words for failures of a sort; empty when it did not."""
    engine: str = ""
    """Which engine answered, as far as it says so."""
    tokens: int = 0
    ttft_seconds: float | None = None
    """None for answers that came as a whole."""
    prompt: int = 0
    """Number of the prompt: the same prompt has the same answer."""
    answer: str = ""
    """A digest of the answer's text."""

    @property
    def ended(self) -> float:
        """Return when the answer was complete or the request had failed."""
        return self.began + self.seconds


@dataclass(frozen=True, slots=True)
class Log:
    """Records in the order of their ends; requests that began before `settled` are all in it."""

    records: tuple[Record, ...]
    settled: float
