"""Entry points: the command `specfleet`, and the same as a plugin, `kubectl specfleet`."""

from __future__ import annotations

from specfleet_cli.app import app
from specfleet_cli.completing import COMPLETE_VARIABLE
from specfleet_cli.options import IN_CLUSTER


def main() -> None:
    """Run the command."""
    app(prog_name="specfleet", complete_var=COMPLETE_VARIABLE)


def kubectl() -> None:
    """Run the command for kubectl: promotions are in a cluster unless an option says otherwise."""
    app(prog_name="kubectl specfleet", complete_var=COMPLETE_VARIABLE, obj=IN_CLUSTER)


if __name__ == "__main__":
    main()
