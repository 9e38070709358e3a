"""Rules of a resource that an API server checks too, in CEL, beside the validators they repeat.

Whatever a cluster can check it checks when a manifest is applied, with a message that says what to
do. `tools/generate_crds.py` moves these rules from the models into the CustomResourceDefinitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

VALIDATIONS: Final = "x-kubernetes-validations"


def rule(cel: str, message: str, *, field: str = "", says: str = "") -> dict[str, Any]:
    """Return one rule; `field` narrows its place, `says` is CEL for a message with values in it."""
    written = {"rule": cel, "message": message, "messageExpression": says, "fieldPath": field}
    return {key: value for key, value in written.items() if value}


def rules(*written: dict[str, Any]) -> dict[str, Any]:
    """Return what a model or field adds to its JSON schema to carry these rules."""
    return {VALIDATIONS: list(written)}


def check_told_apart(names: Iterable[str]) -> None:
    """Raise ValueError when two entries of a list have the same name, as `keyed_by` refuses it."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{count} entries are named {name!r}, expected different names")


def keyed_by(field: str) -> dict[str, Any]:
    """Return what a list adds to its JSON schema when one field tells its entries apart."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [field]}
