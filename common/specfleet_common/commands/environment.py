"""How settings become environment variables."""

from __future__ import annotations

from collections.abc import Mapping


def prefixed(prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings under the names a process reads; its log has whole lines."""
    return {**{prefix + name: value for name, value in settings.items()}, "PYTHONUNBUFFERED": "1"}


def word(value: bool) -> str:
    """Return a truth value as settings read it."""
    return str(value).lower()
