"""Whose store this is: `owner.json` in its root names the one fleet that may write here."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from specfleet_common.mistakes import summary
from specfleet_common.store.base import Store, StoreError

_PATH = "owner.json"


class UnusableStore(StoreError):
    """The store must not be used; only a person can answer that."""


class ForeignStore(UnusableStore):
    """The store belongs to another fleet."""


class OverwritingStore(UnusableStore):
    """The store replaces what exists, so two writers would destroy each other's work."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What `owner.json` says."""

    fleet: str


_ADAPTER = TypeAdapter(Owner)


def claim(store: Store, fleet: str) -> None:
    """Make a store that nobody owns this fleet's; UnusableStore when it cannot be."""
    check(store, fleet)
    entry = _ADAPTER.dump_json(Owner(fleet))
    # Where an entry can be created twice, the same bytes do no harm.
    if store.create(_PATH, [entry]) and store.create(_PATH, [entry]):
        raise OverwritingStore(
            f"the store wrote {_PATH} twice, expected it to refuse the second time: use an S3 "
            "server that honours If-None-Match"
        )
    check(store, fleet)


def check(store: Store, fleet: str) -> None:
    """Raise ForeignStore when the store is another fleet's; nothing is written."""
    owner = owner_of(store)
    if owner is not None and owner.fleet != fleet:
        raise ForeignStore(
            f"the store belongs to fleet {owner.fleet}, this is fleet {fleet}: "
            "give each fleet a store of its own"
        )


def owner_of(store: Store) -> Owner | None:
    """Return whose the store is, None while it is nobody's."""
    data = store.read(_PATH)
    if data is None:
        return None
    try:
        return _ADAPTER.validate_json(bytes(data), strict=True)
    except ValidationError as error:
        raise StoreError(f"{_PATH}: {summary(error)}") from error
