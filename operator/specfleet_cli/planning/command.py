"""The command `plan`: parses options, prints, and imports the rest late."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from specfleet_cli.mistakes import fail
from specfleet_cli.options import Kubeconfig, KubeContext, Namespace


def plan(
    filename: Annotated[
        str,
        typer.Option("--filename", "-f", help="A SpeculatorFleet manifest (YAML); - reads it."),
    ],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    kube_context: KubeContext = None,
) -> None:
    """Show what applying a manifest would change in a cluster, and which pods would restart.

    Nothing is changed. Exit code 0 when nothing would change, 1 when something would, 2 when that
    cannot be said, as with kubectl diff.
    """
    # The client takes longer to import than all the rest.
    from specfleet_cli.access import Access, ClusterError
    from specfleet_cli.api_server import connected
    from specfleet_cli.planning.foreseeing import foresee
    from specfleet_cli.planning.manifests import PlanError, fleets_of
    from specfleet_cli.planning.showing import has_changes, lines

    console = Console()
    try:
        with connected(Access(namespace, kubeconfig, kube_context)) as server:
            fleets = fleets_of(filename, server.namespace, is_chosen=namespace is not None)
            found = [foresee(server.of(one["metadata"]["namespace"]), one) for one in fleets]
    except (ClusterError, PlanError) as error:
        fail(error)
    for one in found:
        for line in lines(one, version=version("specfleet")):
            console.print(line, soft_wrap=True)
    if any(one.problem for one in found):
        raise typer.Exit(2)
    raise typer.Exit(1 if any(map(has_changes, found)) else 0)
