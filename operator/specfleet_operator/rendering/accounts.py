"""The accounts as which engines and aggregator run: identities without any rights."""

from __future__ import annotations

from specfleet_operator.naming import AGGREGATOR, ENGINE, account_name
from specfleet_operator.rendering.subject import Json, Subject, child


def accounts(subject: Subject) -> list[Json]:
    """Return both accounts; no pod gets a token for the API server."""
    return [
        child(
            subject,
            "v1",
            "ServiceAccount",
            account_name(subject.name, component),
            component=component,
            body={"automountServiceAccountToken": False},
        )
        for component in (ENGINE, AGGREGATOR)
    ]
