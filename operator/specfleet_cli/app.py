"""The command line: parses arguments, reports mistakes in one sentence, imports the rest late."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from specfleet_cli.mistakes import errors, fail
from specfleet_cli.planning.command import plan
from specfleet_cli.promotions import commands
from specfleet_cli.status.command import status

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Run fleets of LLM engines whose speculator adapts to the traffic they serve.",
)


@app.command()
def run(
    manifest: Annotated[Path, typer.Argument(help="A SpeculatorFleet manifest (YAML).")],
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for logs, state and fleet.json; out/<fleet> by default."),
    ] = None,
) -> None:
    """Run a fleet as processes on this machine, until Ctrl-C."""
    from specfleet_cli.place import PlaceError
    from specfleet_cli.running import run_fleet
    from specfleet_common.api.loading import ManifestError, load_fleet

    try:
        fleet = load_fleet(manifest)
        place = (out or Path("out") / fleet.metadata.name).absolute()
        code = run_fleet(fleet, place, Console(), os.environ)
    except (ManifestError, PlaceError) as error:
        fail(error)
    raise typer.Exit(code)


@app.command()
def traffic(
    targets: Annotated[
        list[str], typer.Argument(help="A running fleet's fleet.json, or URLs of engines.")
    ],
    prompts: Annotated[
        Path, typer.Option(help="Texts to take prompts from: JSON lines with id and text.")
    ],
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once, per engine.")] = 8,
    duration: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds; until Ctrl-C by default.")
    ] = None,
    requests: Annotated[
        int | None, typer.Option(min=1, help="Requests per engine; no limit by default.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens per answer.")] = 64,
    seed: Annotated[int, typer.Option(help="Another seed gives other prompts.")] = 0,
    report_every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between lines of progress.")
    ] = 5.0,
) -> None:
    """Send the same prompts to every engine and compare what they answer."""
    import asyncio

    from specfleet_cli.endpoints import EndpointsError
    from specfleet_cli.traffic.command import send_traffic
    from specfleet_cli.traffic.completions import RequestError
    from specfleet_cli.traffic.driving import Load
    from specfleet_cli.traffic.prompts import PromptsError
    from specfleet_cli.traffic.targets import TargetsError

    load = Load(
        concurrency=concurrency,
        max_tokens=max_tokens,
        seed=seed,
        requests=requests,
        report_every_seconds=report_every,
    )
    try:
        code = asyncio.run(
            send_traffic(targets, prompts, load, duration_seconds=duration, console=errors)
        )
    except (EndpointsError, PromptsError, RequestError, TargetsError) as error:
        fail(error)
    raise typer.Exit(code)


for command in (
    status,
    plan,
    commands.promotions,
    commands.approve,
    commands.abort,
    commands.rejudge,
):
    app.command()(command)
