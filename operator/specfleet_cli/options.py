"""Options that several commands have, and where kubectl says that a cluster is meant."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

IN_CLUSTER = "in a cluster"
"""What typer's context holds when kubectl calls."""

Directory = Annotated[
    Path | None,
    typer.Option(help="Directory of a local run; by default the only run below out/."),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="In a cluster: the fleet's namespace.")
]
Kubeconfig = Annotated[Path | None, typer.Option(help="In a cluster: how to reach it.")]
KubeContext = Annotated[
    str | None, typer.Option("--context", help="In a cluster: which context of the kubeconfig.")
]


class Output(StrEnum):
    """How things are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print.")]
