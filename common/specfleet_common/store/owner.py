"""Whose store this is: `owner.json` in its root names the one fleet that may write here."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from specfleet_common.store.base import Store, StoreError

_PATH = "owner.json"


class ForeignStore(StoreError):
    """The store belongs to another fleet; only a person can answer that."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What `owner.json` says."""

    fleet: str


_ADAPTER = TypeAdapter(Owner)


def claim(store: Store, fleet: str) -> None:
    """Make a store that nobody owns this fleet's; ForeignStore when it is another's."""
    store.create(_PATH, [_ADAPTER.dump_json(Owner(fleet))])
    check(store, fleet)


def check(store: Store, fleet: str) -> None:
    """Raise ForeignStore when the store is another fleet's; nothing is written."""
    data = store.read(_PATH)
    if data is None:
        return
    try:
        owner = _ADAPTER.validate_json(bytes(data), strict=True)
    except ValidationError as error:
        raise StoreError(f"{_PATH}: {error}") from error
    if owner.fleet != fleet:
        raise ForeignStore(
            f"the store belongs to fleet {owner.fleet}, this is fleet {fleet}: "
            "give each fleet a store of its own"
        )
