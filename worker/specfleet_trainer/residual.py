"""Error feedback (arXiv 1901.09847): what encoding takes from a delta is added to the next. Pure.

With x = (global - local) + e the worker sends Q(x) and keeps e' = x - Q(x). That holds only if Q(x)
becomes part of a version. A delta that does not (its round closed without it) was never sent as far
as anyone can tell, its steps are lost as they are without encoding, and e stays what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import Orders
from specfleet_trainer.heads import Array
from specfleet_trainer.progress import Progress, starts_afresh

Arrays = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Residual:
    """`kept` is e, owed to the versions; `pending` is e' of a delta that may or may not count.

    Either is empty while nothing is owed.
    """

    kept: Arrays = field(default_factory=dict)
    pending: Arrays = field(default_factory=dict)


def compensated(delta: Arrays, residual: Residual) -> Arrays:
    """Return x, what the worker wants to send."""
    if not residual.kept:
        return delta
    return {name: values + residual.kept[name] for name, values in delta.items()}


def after_delivery(residual: Residual, wanted: Arrays, data: bytes, codec: Codec) -> Residual:
    """Return the residual after `wanted` was sent as `data`.

    A codec without feedback loses too little to make up for, and pays what is owed all the same.
    """
    pending = deltas.rounding_error(wanted, data, codec) if codec.feeds_back else {}
    return Residual(residual.kept, pending)


def at_beginning(residual: Residual, before: Progress | None, orders: Orders) -> Residual:
    """Return the residual with which the orders' round begins.

    Nothing is owed when the round starts afresh: what was left over may be what did the damage.
    """
    if starts_afresh(orders, before):
        return Residual()
    if before is None or not before.delta_digest:
        return Residual(residual.kept)
    has_counted = orders.counted_version == before.round + 1
    return Residual(residual.pending if has_counted else residual.kept)
