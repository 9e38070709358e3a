"""Reads fleets of one namespace, and of each its newest promotion."""

from __future__ import annotations

from typing import Any

from specfleet_cli.access import ClusterError, NotThere
from specfleet_cli.api_server import FLEETS, PROMOTIONS, VERSION, ApiServer
from specfleet_cli.status.objects import promotion_name, report_of
from specfleet_cli.status.report import Report, StatusError


def look(server: ApiServer, name: str | None) -> tuple[Report, ...]:
    """Return the fleet of this name, or all of the namespace."""
    if name is not None:
        return (_report(server, _fleet(server, name)),)
    found = server.items(VERSION, FLEETS)
    if not found:
        raise StatusError(
            f"no fleet is in namespace {server.namespace}: name another with --namespace, or create"
            " one with kubectl apply"
        )
    return tuple(_report(server, item) for item in found)


def _fleet(server: ApiServer, name: str) -> dict[str, Any]:
    try:
        return server.get(VERSION, FLEETS, name)
    except NotThere:
        known = ", ".join(item["metadata"]["name"] for item in server.items(VERSION, FLEETS))
        raise StatusError(
            f"{name}: is no fleet in namespace {server.namespace}, expected "
            + (f"one of {known}" if known else "one, but there is none")
        ) from None


def _report(server: ApiServer, item: dict[str, Any]) -> Report:
    return report_of(item, _promotion(server, promotion_name(item)))


def _promotion(server: ApiServer, name: str) -> dict[str, Any] | None:
    """Return the object, None when there is none or it may not be read: the rest is known."""
    if not name:
        return None
    try:
        return server.get(VERSION, PROMOTIONS, name)
    except ClusterError:
        return None
