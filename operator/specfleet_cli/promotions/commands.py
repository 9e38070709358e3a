"""The commands about promotions: they parse options and print, and import the rest late."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from specfleet_cli.mistakes import errors, fail
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

if TYPE_CHECKING:
    from specfleet_cli.promotions.sources import Source

Name = Annotated[str, typer.Argument(help="The promotion, as `promotions` names it.")]
OptionalName = Annotated[
    str | None, typer.Argument(help="Show everything about this one; a table of all without it.")
]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="A store's directory, or a fleet's manifest, without a run."),
]
S3Endpoint = Annotated[
    str | None,
    typer.Option(help="In a cluster: where the fleet's S3 server is reached from here."),
]


def promotions(
    context: typer.Context,
    name: OptionalName = None,
    output: OutputOption = Output.TABLE,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the evidence of NAME into a file: .svg, .png or .html."),
    ] = None,
    directory: Directory = None,
    store: StorePath = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    kube_context: KubeContext = None,
    s3_endpoint: S3Endpoint = None,
) -> None:
    """Show which versions were candidates, how they were judged, and what became of them."""
    where = Where(directory, store, namespace, kubeconfig, kube_context, s3_endpoint)
    if plot is not None and name is None:
        fail(ValueError("--plot: draws the evidence of one promotion, expected its NAME"))
    with _found(context, where) as source:
        from specfleet_cli.promotions.plotting import plot_file
        from specfleet_cli.promotions.printing import show, show_one

        console = Console()
        if name is None:
            show(source.promotions(), output.value, console)
        elif plot is None:
            show_one(source.promotion(name), output.value, console)
        else:
            console.print(plot_file(source.stored(name), plot), soft_wrap=True, highlight=False)


def approve(
    context: typer.Context,
    name: Name,
    directory: Directory = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    kube_context: KubeContext = None,
) -> None:
    """Let a candidate that waits for you go to all engines (promotion.mode: Manual)."""
    where = Where(directory, None, namespace, kubeconfig, kube_context)
    with _found(context, where) as source:
        from specfleet_common.api.promotion import Decision

        typer.echo(source.decide(name, Decision.APPROVE))


def abort(
    context: typer.Context,
    name: Name,
    directory: Directory = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    kube_context: KubeContext = None,
) -> None:
    """End a promotion for good and keep the stable version."""
    where = Where(directory, None, namespace, kubeconfig, kube_context)
    with _found(context, where) as source:
        from specfleet_common.api.promotion import Decision

        typer.echo(source.decide(name, Decision.ABORT))


def rejudge(
    context: typer.Context,
    name: Name,
    directory: Directory = None,
    store: StorePath = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    kube_context: KubeContext = None,
    s3_endpoint: S3Endpoint = None,
) -> None:
    """Recompute the verdicts of a promotion from its evidence in the store.

    Exit code 0 when they come out as they were decided by, byte for byte, and 1 when they differ.
    """
    where = Where(directory, store, namespace, kubeconfig, kube_context, s3_endpoint)
    with _found(context, where) as source:
        from specfleet_cli.promotions.rejudging import rejudge_all

        stored = source.stored(name)
        rejudged = rejudge_all(stored.store, stored.promotion)
        typer.echo("\n".join(rejudged.lines()))
    raise typer.Exit(0 if rejudged.is_the_same else 1)


@contextmanager
def _found(context: typer.Context, where: Where) -> Iterator[Source]:
    """Give the promotions that are meant; a user's mistake ends the command."""
    from specfleet_cli.promotions.sources import MISTAKES, opened_source

    try:
        with opened_source(where, os.environ, in_cluster=context.obj == IN_CLUSTER) as source:
            yield source
            if source.note:
                errors.print(source.note, markup=False, highlight=False, soft_wrap=True)
    except MISTAKES as error:
        fail(error)
