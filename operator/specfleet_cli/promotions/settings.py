"""What users decide about promotions of a local run: it is part of the run's settings file."""

from __future__ import annotations

import fcntl
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from specfleet_common.api.learning import LearningSettings, SettingsError, parse_settings
from specfleet_common.api.promotion import Decision
from specfleet_common.files import read_small, write_file

_LOCK = ".settings.lock"


class SettingsFileError(ValueError):
    """The settings file of a run cannot be used; the message names it."""


def read_settings(path: Path) -> LearningSettings:
    """Return what the file says."""
    try:
        return parse_settings(read_small(path))
    except (OSError, SettingsError) as error:
        raise SettingsFileError(f"{path}: cannot be used: {error}") from error


def write_decision(
    path: Path, promotion: str, decision: Decision, *, open_promotions: Collection[str]
) -> None:
    """Add a decision to the file in one step; decisions about what has ended are dropped."""
    with _held(path.with_name(_LOCK)):
        settings = read_settings(path)
        decisions = decided(settings.decisions, promotion, decision, open_promotions)
        write_file(path, settings.model_copy(update={"decisions": decisions}).to_json().encode())


def decided(
    before: Mapping[str, Decision],
    promotion: str,
    decision: Decision,
    open_promotions: Collection[str],
) -> dict[str, Decision]:
    """Return the decisions that are still needed with one more; to abort is final."""
    kept = {name: one for name, one in before.items() if name in open_promotions}
    is_final = before.get(promotion) is Decision.ABORT
    return dict(sorted({**kept, promotion: Decision.ABORT if is_final else decision}.items()))


@contextmanager
def _held(lock: Path) -> Iterator[None]:
    """Wait until nobody else rewrites the file."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
