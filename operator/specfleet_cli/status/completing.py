"""The names of the fleets that a shell may complete `status` with.

A shell that completes can show no error: what cannot be asked has no names.
"""

from __future__ import annotations

import typer

from specfleet_cli.options import IN_CLUSTER
from specfleet_cli.promotions.where import Where


def fleet_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the fleets that are where the options before the word say, or where it is usual."""
    from specfleet_cli.status.looking import MISTAKES, names

    given = context.params
    where = Where(
        given.get("directory"),
        None,
        given.get("namespace"),
        given.get("kubeconfig"),
        given.get("kube_context"),
    )
    try:
        found = names(where, in_cluster=context.obj == IN_CLUSTER)
    except MISTAKES:
        return []
    return [name for name in found if name.startswith(incomplete)]
