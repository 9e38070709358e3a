"""How an API server merges what it has with what it is sent, as far as one field manager needs it.

For the API server in memory that tests use.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def merged(live: Any, before: Any, said: Any) -> Any:
    """Return `live` with what is said, without what was said before and is said no more."""
    if not (isinstance(live, Mapping) and isinstance(said, Mapping)):
        return copy.deepcopy(said)
    known = before if isinstance(before, Mapping) else {}
    result = {name: value for name, value in live.items() if name in said or name not in known}
    for name, value in said.items():
        after = merged(live[name], known.get(name), value) if name in live else value
        result[name] = copy.deepcopy(after)
    return result


def patched(live: Any, changes: Any) -> Any:
    """Return `live` after a JSON merge patch (RFC 7396)."""
    if not (isinstance(live, Mapping) and isinstance(changes, Mapping)):
        return copy.deepcopy(changes)
    result = dict(live)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name, {}), value)
    return result
