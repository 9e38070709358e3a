"""Entry point of the command `specfleet`."""

from __future__ import annotations

from specfleet_cli.app import app


def main() -> None:
    """Run the command."""
    app(prog_name="specfleet")


if __name__ == "__main__":
    main()
