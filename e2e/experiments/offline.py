"""What the experiments without a fleet share: their command line, their data, their federations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from e2e.engines import MODEL, ROOT
from e2e.experiments.captures import HELD_OUT, SENT, hindi
from e2e.experiments.federating import Plan, Recipe, Round, federate
from e2e.report.writing import write_report
from e2e.walking import acceptance_length, head_of
from specfleet_common.api.learning import depth_weights
from specfleet_common.api.loading import load_fleet
from specfleet_common.tensors import TensorMap, encode
from specfleet_trainer.checkpoint import Tables, read_config, read_tables, read_tensors
from specfleet_trainer.heads import new_head
from specfleet_trainer.sequences import Sequence as Rows

MANIFEST = ROOT / "examples/demo.yaml"
NUM_WORKERS = 2
"""Of experiments that do not ask for another number."""


@dataclass(frozen=True, slots=True)
class Options:
    """How much is trained, from which requests, how often, and where the report goes."""

    out: Path
    captures: Path
    rounds: int
    local_steps: int
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """What all federations of an experiment start from."""

    stock: TensorMap
    tables: Tables
    shares: tuple[tuple[Rows, ...], ...]
    held_out: tuple[Rows, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One federation: its rounds, and tokens per verify step on held-out requests after each."""

    seed: int
    rounds: tuple[Round, ...]
    lengths: tuple[float, ...]
    """The first is stock's."""

    @property
    def gain_percent(self) -> float:
        """Return by how much the last version's tokens per verify step exceed stock's."""
        return 100.0 * (self.lengths[-1] / self.lengths[0] - 1.0)


def parse(name: str, description: str | None, arguments: Sequence[str], *, rounds: int) -> Options:
    """Return what the command line asks for; `rounds` is the default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=ROOT / f"out/experiment-{name}")
    parser.add_argument(
        "--captures",
        type=Path,
        default=ROOT / "out/captures-hi.npz",
        help="file with captured requests, made when it is missing, default %(default)s",
    )
    parser.add_argument(
        "--rounds", type=int, default=rounds, help="at least 2, default %(default)s"
    )
    parser.add_argument(
        "--local-steps", type=int, default=40, help="of each worker in a round, default %(default)s"
    )
    parser.add_argument("--seeds", type=int, default=2, help="runs of each, default %(default)s")
    given = parser.parse_args(arguments)
    if given.rounds < 2:
        parser.error(f"--rounds is {given.rounds}, expected at least 2: versions are compared")
    return Options(
        out=given.out.absolute(),
        captures=given.captures.absolute(),
        rounds=given.rounds,
        local_steps=given.local_steps,
        seeds=tuple(range(1, given.seeds + 1)),
    )


def plan_of(options: Options) -> Plan:
    """Return a plan with the trainer's settings of the demo and the product's own outer step."""
    fleet = load_fleet(MANIFEST)
    defaults = type(fleet.spec.aggregation)()
    return Plan(
        rounds=options.rounds,
        local_steps=options.local_steps,
        rows_per_step=fleet.spec.trainer.rows_per_step,
        learning_rate=float(fleet.spec.trainer.learning_rate),
        depth_weights=depth_weights(fleet),
        outer_learning_rate=float(defaults.outer.learning_rate),
        outer_momentum=float(defaults.outer.momentum),
        dtype=fleet.spec.target.dtype or "float32",
    )


def material(options: Options, console: Console, *, num_workers: int = NUM_WORKERS) -> Material:
    """Return stock, and captured requests shared out among the workers."""
    options.out.mkdir(parents=True, exist_ok=True)
    captured = hindi(
        options.captures,
        report=lambda name, done, of: console.print(f"{done} of {of} requests captured ({name})"),
    )
    config = read_config(MODEL)
    names = new_head("mtp", "mimo", config).to_checkpoint()
    stock = {name: tensor.numpy() for name, tensor in read_tensors(MODEL, names).items()}
    sent = captured[SENT]
    return Material(
        stock=stock,
        tables=read_tables(MODEL),
        shares=tuple(tuple(sent[index::num_workers]) for index in range(num_workers)),
        held_out=tuple(rows for rows in captured[HELD_OUT] if rows.complete),
    )


def run_all(
    recipes: Mapping[str, Recipe],
    options: Options,
    plan: Plan,
    given: Material,
    console: Console,
) -> dict[str, list[Run]]:
    """Return the federations of every recipe, one for each seed."""

    def length(version: bytes) -> float:
        return acceptance_length(head_of(version), given.tables, given.held_out)

    start = length(encode(given.stock, plan.dtype))
    runs: dict[str, list[Run]] = {name: [] for name in recipes}
    for seed in options.seeds:
        for name, recipe in recipes.items():
            runs[name].append(_run(recipe, plan, given, length, start, seed))
            console.print(f"{name}, seed {seed}: {runs[name][-1].gain_percent:+.1f} %")
    return runs


def _run(
    recipe: Recipe,
    plan: Plan,
    given: Material,
    length: Callable[[bytes], float],
    start: float,
    seed: int,
) -> Run:
    rounds, lengths = [], [start]
    for round_ in federate(given.stock, given.tables, given.shares, recipe, plan, seed=seed):
        rounds.append(round_)
        lengths.append(length(round_.version))
    return Run(seed, tuple(rounds), tuple(lengths))


def what_ran(options: Options, plan: Plan, runs: Mapping[str, list[Run]]) -> dict[str, Any]:
    """Return what every report says of its federations."""
    return {
        "plan": asdict(plan),
        "seeds": options.seeds,
        "lengths": {name: mean_lengths(some) for name, some in runs.items()},
    }


def conclude(
    console: Console,
    options: Options,
    content: dict[str, Any],
    page: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> None:
    """Write the report, show its table in the terminal, and say where the report is."""
    data, html = write_report(options.out, content, page)
    grid = Grid(*columns)
    for row in rows:
        grid.add_row(*row)
    console.print(grid)
    console.print(f"{data}, {html}")


def mean_lengths(runs: Sequence[Run]) -> dict[int, float]:
    """Return the tokens per verify step after each round, the mean over runs; 0 is stock."""
    columns = zip(*(run.lengths for run in runs), strict=True)
    return {number: fmean(column) for number, column in enumerate(columns)}


def mean_gain(runs: Sequence[Run]) -> float:
    """Return the mean gain of the last version in percent."""
    return fmean(run.gain_percent for run in runs)
