"""Training the drafter of one lineage: its data, its weights, and the files that come of them.

It does what the loop says; when to do what is decided in `progress`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import structlog
import torch

from specfleet_common import exchange, tensors
from specfleet_common.codecs import deltas
from specfleet_common.exchange import Orders
from specfleet_common.files import write_file
from specfleet_common.shm.layout import Layout
from specfleet_trainer import progress as advance
from specfleet_trainer import residual, state
from specfleet_trainer.batch import output_rows, training_rows
from specfleet_trainer.buffer import Buffer, HeldOut
from specfleet_trainer.checkpoint import CheckpointError, read_config, read_tables
from specfleet_trainer.compute import compute_type, measure
from specfleet_trainer.genesis import Genesis
from specfleet_trainer.heads import Array, Config, blank_head, new_head
from specfleet_trainer.lessons import learn
from specfleet_trainer.progress import Progress
from specfleet_trainer.residual import Residual
from specfleet_trainer.restricted import sampling_for
from specfleet_trainer.scoring import mean_losses
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.settings import Settings
from specfleet_trainer.state import StateError
from specfleet_trainer.step import StepResult, TrainingStep
from specfleet_trainer.walk import step_walk, total
from specfleet_trainer.walking import Walker

log = structlog.get_logger()


class VersionError(ValueError):
    """A version on the volume is not the one the orders name."""


class VersionAbsent(FileNotFoundError):
    """The version that the orders name is not on the volume, or not any more."""


class Session:
    """Holds one head; `progress` is None until the first round begins."""

    def __init__(
        self, settings: Settings, layout: Layout, orders: Orders, *, clock: Callable[[], float]
    ) -> None:
        config = read_config(settings.model)
        hidden_size = config.get("hidden_size")
        if hidden_size != layout.hidden_size:
            raise CheckpointError(
                f"{settings.model}: hidden_size is {hidden_size}, expected the engine's "
                f"{layout.hidden_size}"
            )
        self.layout = layout
        self._directory = settings.state_directory
        self._head = new_head(layout.family, layout.layout, config)
        self._tables = read_tables(settings.model, _compute_type(config))
        self._step = TrainingStep(
            self._head,
            self._tables,
            learning_rate=orders.learning_rate,
            depth_weights=orders.depth_weights,
            dpace=orders.dpace,
            sampling=sampling_for(len(self._tables.lm_head)),
            seed=settings.seed,
        )
        self._random = np.random.default_rng(settings.seed)
        self._buffer = Buffer(max_rows=settings.max_buffer_rows, max_uses=settings.max_uses)
        self._held_out = HeldOut(max_rows=settings.max_held_out_rows)
        self._genesis = Genesis(max_rows=settings.max_genesis_rows)
        dtype = self._tables.embedding.dtype
        self._walker = Walker(
            settings.state_directory,
            settings.shm_directory,
            lineage_id=layout.lineage_id,
            domain=settings.cohort,
            build=lambda: blank_head(layout.family, layout.layout, config, dtype),
            tables=self._tables,
            depths=layout.num_speculative_tokens,
            clock=clock,
        )
        self.progress, self._residual = self._restored()

    @property
    def has_data(self) -> bool:
        """Say whether there is something to train on."""
        return len(self._buffer) > 0

    def take(self, sequence: Sequence) -> None:
        """Keep a finished sequence for training or, when it is held out, for scoring."""
        if sequence.held_out:
            if sequence.complete and output_rows(sequence):
                self._held_out.add(sequence)
                self._genesis.add(sequence)
        elif training_rows(sequence, self._step.depths):
            self._buffer.add(sequence)

    def follow(self, orders: Orders) -> None:
        """Train as these orders say from the next step on."""
        self._step.follow(
            learning_rate=orders.learning_rate,
            depth_weights=orders.depth_weights,
            dpace=orders.dpace,
        )

    def begin(self, orders: Orders) -> None:
        """Start the orders' round from its version; the moments go on unless they did damage."""
        self._head.load_checkpoint(self._version(orders))
        if advance.starts_afresh(orders, self.progress):
            self._step.set_moments({})
        self._residual = residual.at_beginning(self._residual, self.progress, orders)
        self._keep(advance.begun(orders, self.progress))
        log.info("round_begun", round=orders.round, version=orders.version, attempt=orders.attempt)

    def train(self, orders: Orders) -> StepResult:
        """Make one step and keep it; write the local weights when that is due.

        A skipped step taught nothing and counts for nothing.
        """
        assert self.progress is not None, "a round has begun"
        result = learn(self._buffer, self._step, orders.rows_per_step, self._random)
        if result.is_skipped:
            # As text: JSON has no number that is not finite.
            norm = str(result.gradient_norm)
            log.warning("step_skipped", round=self.progress.round, gradient_norm=norm)
            return result
        progress = advance.trained(self.progress, result.positions)
        if advance.is_publication_due(progress, orders):
            data = tensors.encode(self._head.to_checkpoint(), orders.dtype)
            write_file(self._directory / exchange.LOCAL_WEIGHTS, data)
            progress = replace(progress, local_digest=tensors.content_digest(data))
        self._keep(progress)
        return result

    def deliver(self, orders: Orders) -> None:
        """Write the round's delta, base minus local, encoded as ordered, and keep its digest."""
        assert self.progress is not None, "a round has begun"
        progress = self.progress
        base, local = self._version(orders), self._head.to_checkpoint()
        delta = {name: base[name] - local[name] for name in local}
        wanted, codec = residual.compensated(delta, self._residual), orders.codec
        data = deltas.encode(wanted, codec)
        write_file(self._directory / exchange.delta_file(progress.round), data)
        self._residual = residual.after_delivery(self._residual, wanted, data, codec)
        self._keep(advance.delivered(progress, deltas.digest(data, codec), codec))
        log.info(
            "delta_written",
            round=progress.round,
            positions=progress.round_positions,
            codec=codec.value,
            size_bytes=len(data),
        )

    def walk(self, alive: Callable[[], None]) -> bool:
        """Walk the heads of a promotion over one held-out request, if there are both."""
        newest = self._held_out.sequences
        return self._walker.walk(newest, self._genesis.besides(newest), alive=alive)

    def score(self, orders: Orders, alive: Callable[[], None]) -> None:
        """Say how the local weights and the round's version do on what was held out."""
        if not self._held_out.sequences:
            return
        base, local = self._version(orders), self._head.to_checkpoint()
        self._score("local", orders, alive)
        self._head.load_checkpoint(base)
        self._score("base", orders, alive)
        self._head.load_checkpoint(local)

    def _version(self, orders: Orders) -> dict[str, Array]:
        path = self._directory / orders.base_file
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise VersionAbsent(f"{path}: version {orders.version} is not there") from error
        digest = tensors.content_digest(data)
        if digest != orders.digest:
            raise VersionError(f"{path}: digest is {digest}, expected {orders.digest}")
        return tensors.decode(data)

    def _keep(self, progress: Progress) -> None:
        path = self._directory / exchange.TRAINER_STATE
        write_file(path, state.encode(self._step, progress, self._residual))
        self.progress = progress

    def _restored(self) -> tuple[Progress | None, Residual]:
        """Go on from the state on the volume, if it is of this lineage."""
        path = self._directory / exchange.TRAINER_STATE
        try:
            found = state.restore(path, self._step, lineage_id=self.layout.lineage_id)
        except StateError as error:
            log.warning("state_unusable", reason=str(error))
            return None, Residual()
        if found is None:
            return None, Residual()
        progress, kept = found
        log.info("state_restored", round=progress.round, local_steps=progress.local_steps)
        return progress, kept

    def _score(self, weights: str, orders: Orders, alive: Callable[[], None]) -> None:
        held_out, depths = self._held_out.sequences, self._step.depths
        losses = mean_losses(self._step, _with_signs_of_life(held_out, alive))
        walked = total(
            [
                step_walk(self._head, self._tables, item, depths)
                for item in _with_signs_of_life(held_out, alive)
            ],
            depths,
        )
        log.info(
            "held_out_scored",
            weights=weights,
            round=orders.round,
            requests=len(held_out),
            losses=[round(loss, 4) for loss in losses],
            tokens=walked.tokens,
            verify_steps=walked.verify_steps,
            accepted=walked.accepted,
        )


def _with_signs_of_life(items: list[Sequence], alive: Callable[[], None]) -> Iterator[Sequence]:
    for item in items:
        yield item
        alive()


def _compute_type(config: Config) -> torch.dtype:
    hidden_size = config["hidden_size"]
    rates = measure()
    dtype = compute_type(rates, hidden_size=hidden_size)
    log.info(
        "compute_type_chosen",
        dtype=str(dtype).removeprefix("torch."),
        float32_gflops=round(rates.float32 / 1e9, 1),
        bfloat16_gflops=round(rates.bfloat16 / 1e9, 1),
    )
    return dtype
