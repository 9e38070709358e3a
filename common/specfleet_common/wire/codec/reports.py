"""What a worker's trainer and its drafters report, and whether these pay.

It is part of heartbeats, and of the fleet's state.
"""

from __future__ import annotations

from collections.abc import Sequence

from specfleet_common.lineage import EARLIER
from specfleet_common.tensors import quoted
from specfleet_common.wire.codec.checking import WireError, checked_observed, not_negative, positive
from specfleet_common.wire.messages import DrafterCounters, Speculation, TrainerStatus
from specfleet_common.wire.v1 import specfleet_pb2 as pb

PHASES = frozenset({"waiting", "training", "delivered", "restarting", "parked", "off"})


def encode_trainer(trainer: TrainerStatus) -> pb.TrainerStatus:
    """Return the message that says what a trainer does."""
    return pb.TrainerStatus(
        phase=trainer.phase,
        local_steps=trainer.local_steps,
        total_steps=trainer.total_steps,
        positions=trainer.positions,
        positions_per_second=trainer.positions_per_second,
        loss=trainer.loss,
    )


def decode_trainer(message: pb.TrainerStatus) -> TrainerStatus:
    """Return what a trainer does."""
    if message.phase not in PHASES:
        raise WireError(
            f"trainer.phase: is {quoted(message.phase)}, expected one of {sorted(PHASES)}"
        )
    return TrainerStatus(
        phase=message.phase,
        local_steps=message.local_steps,
        total_steps=message.total_steps,
        positions=message.positions,
        positions_per_second=not_negative(
            message.positions_per_second, "trainer.positions_per_second"
        ),
        loss=tuple(message.loss),
    )


def encode_counters(counters: DrafterCounters) -> pb.DrafterCounters:
    """Return the message that counts for one drafter."""
    return pb.DrafterCounters(
        digest=counters.digest,
        verify_steps=counters.verify_steps,
        drafted=counters.drafted,
        accepted=counters.accepted,
        output_tokens=counters.output_tokens,
        busy_seconds=counters.busy_seconds,
    )


def decode_drafters(messages: Sequence[pb.DrafterCounters]) -> tuple[DrafterCounters, ...]:
    """Return what was counted per drafter."""
    return tuple(_decode_counters(message) for message in messages)


def encode_speculation(speculation: Speculation) -> pb.Speculation:
    """Return the message that says whether speculation pays."""
    return pb.Speculation(
        acceptance_length=speculation.acceptance_length,
        break_even_length=speculation.break_even_length,
        verify_steps=speculation.verify_steps,
    )


def decode_speculation(message: pb.Speculation) -> Speculation:
    """Return whether speculation pays."""
    return Speculation(
        acceptance_length=not_negative(message.acceptance_length, "speculation.acceptance_length"),
        break_even_length=positive(message.break_even_length, "speculation.break_even_length"),
        verify_steps=message.verify_steps,
    )


def _decode_counters(message: pb.DrafterCounters) -> DrafterCounters:
    if len(message.drafted) != len(message.accepted):
        raise WireError(
            f"drafters: {len(message.accepted)} depths accepted, expected {len(message.drafted)}"
        )
    return DrafterCounters(
        digest=_checked_drafter(message.digest),
        verify_steps=message.verify_steps,
        drafted=tuple(message.drafted),
        accepted=tuple(message.accepted),
        output_tokens=message.output_tokens,
        busy_seconds=not_negative(message.busy_seconds, "drafters.busy_seconds"),
    )


def _checked_drafter(name: str) -> str:
    """Return whose counters these are; an engine adds up those of drafters that it ran long ago."""
    return name if name == EARLIER else checked_observed(name, "drafters.digest")
