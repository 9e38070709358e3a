"""The command `status`: parses options, prints, and imports the rest late."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console

from specfleet_cli.mistakes import fail
from specfleet_cli.options import (
    IN_CLUSTER,
    Directory,
    Kubeconfig,
    KubeContext,
    Namespace,
    Output,
    OutputOption,
)
from specfleet_cli.promotions.where import Where
from specfleet_cli.status.completing import fleet_names

WATCH_SECONDS = 2.0


def status(
    context: typer.Context,
    fleet: Annotated[
        str | None,
        typer.Argument(
            help="The fleet; all that are there without it.", autocompletion=fleet_names
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again as it changes, until Ctrl-C.")
    ] = False,
    directory: Directory = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    kube_context: KubeContext = None,
) -> None:
    """Show whether a fleet runs as it should, what it learns, and what it serves."""
    from specfleet_cli.status.looking import MISTAKES, looking
    from specfleet_cli.status.printing import Printer

    where = Where(directory, None, namespace, kubeconfig, kube_context)
    try:
        with looking(fleet, where, in_cluster=context.obj == IN_CLUSTER) as look:
            printer = Printer(Console(), output, is_one=fleet is not None)
            if watch:
                printer.follow(look, pause=lambda: time.sleep(WATCH_SECONDS))
            else:
                printer.print(look())
    except MISTAKES as error:
        fail(error)
    except KeyboardInterrupt:
        # The usual end of watching.
        raise typer.Exit(130) from None
