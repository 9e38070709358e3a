"""What an agent and its trainer tell each other: small files in one directory, replaced whole.

The newest file is the complete truth, so either side may die at any instruction, start again, and
read it. Weights lie beside them as safetensors files, written before the message that names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from specfleet_common.codecs.codec import Codec
from specfleet_common.fields import Count
from specfleet_common.files import write_file
from specfleet_common.judge.records import Walk
from specfleet_common.mistakes import summary

ORDERS = "orders.json"
REPORT = "report.json"
WALKING = "walking.json"
WALKS = "walks.json"
LOCAL_WEIGHTS = "local.safetensors"
TRAINER_STATE = "trainer-state.safetensors"

Message = TypeVar("Message")
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ExchangeError(ValueError):
    """A file is not the message it should be; the other side may be of another version."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What the trainer should do: train round `round` from the weights in `base_file`."""

    lineage_id: str
    dtype: str
    round: int
    version: int
    digest: str
    base_file: str
    local_steps: int
    learning_rate: float
    depth_weights: tuple[float, ...]
    rows_per_step: int
    publish_every_steps: int
    """Write `local.safetensors` after this many steps; 0 means never."""
    attempt: int = 0
    """How often the round has to be trained again, because its delta was refused."""
    codec: Codec = Codec.FLOAT32
    """How the round's delta is to be encoded."""
    dpace: bool = False
    """Weigh depths by D-PACE; `depth_weights` only says how many there are."""
    counted_version: int = 0
    """The newest version that a delta of this worker is part of, as far as is known; 0 for none."""
    fresh: int = 0
    """With another number than the trainer's state has, its moments are forgotten."""


@dataclass(frozen=True, slots=True)
class Head:
    """Weights that lie beside the messages."""

    digest: str
    file: str


@dataclass(frozen=True, slots=True)
class Walking:
    """Which heads to walk over what was held out; stock lies where the engine puts it."""

    promotion: str
    lineage_id: str
    candidate: Head
    stable: Head
    stock_digest: str


@dataclass(frozen=True, slots=True)
class WalkReport:
    """All walks of one promotion so far, and why there are no more; nothing while there are."""

    promotion: str
    lineage_id: str
    walks: tuple[Walk, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TrainerReport:
    """What the trainer has done; `local_digest` and `delta_digest` are empty for none."""

    pid: Count
    phase: str
    lineage_id: str
    round: Count
    version: Count
    local_steps: Count
    total_steps: Count
    positions: Count
    positions_per_second: Rate
    loss: tuple[float, ...]
    requests: Count
    local_digest: str
    delta_round: Count
    delta_digest: str
    delta_positions: Count
    attempt: Count = 0
    """Of the round: that of the orders it is trained by."""
    delta_codec: Codec = Codec.FLOAT32


def delta_file(round_: int) -> str:
    """Return the name of the file with the delta of one round, in the encoding of its report."""
    return f"delta-{round_}.bin"


def version_file(number: int) -> str:
    """Return the name of the file with one global version (safetensors in serving dtype)."""
    return f"version-{number}.safetensors"


def write_message(path: Path, message: Orders | TrainerReport | Walking | WalkReport) -> None:
    """Replace the message in `path`."""
    write_file(path, TypeAdapter(type(message)).dump_json(message))


def read_message(path: Path, kind: type[Message]) -> Message | None:
    """Return the message in `path`, None while there is none; ExchangeError when it is not one."""
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise ExchangeError(
            f"{path}: not a {kind.__name__} of this version: {summary(error)}"
        ) from error
