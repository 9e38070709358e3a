"""Who calls, and what that allows. Pure: how it is proved is in `tokens`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a caller may do."""

    WORKER = "worker"
    """Report, and hand in and fetch weights."""
    WATCHER = "watcher"
    """See the state of the fleet."""


class Reason(StrEnum):
    """Why a call was refused, as metrics count it."""

    MISSING = "missing"
    TOO_LARGE = "too_large"
    MALFORMED = "malformed"
    ALGORITHM = "algorithm"
    KEY = "key"
    SIGNATURE = "signature"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    EXPIRED = "expired"
    EARLY = "early"
    SECRET = "secret"
    SUBJECT = "subject"
    ROLE = "role"
    POD = "pod"

    @property
    def is_of_a_known_caller(self) -> bool:
        """Say whether it is clear who calls, and only what was called is not allowed."""
        return self in (Reason.SUBJECT, Reason.ROLE, Reason.POD)


class CallRefused(Exception):
    """A call is not allowed; the message says why and holds nothing of the token's secret."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a call is from; None where that does not matter to what it may do."""

    roles: frozenset[Role]
    name: str = "anyone"
    pod_uid: str | None = None
    """The only worker that the caller may speak for."""
    expires_at: float | None = None
    """Wall clock second until which it is known who calls."""

    def check_role(self, role: Role) -> None:
        """Raise CallRefused unless the caller has the role."""
        if role not in self.roles:
            raise CallRefused(Reason.ROLE, f"{self.name} may not call this, only a {role} may")

    def check_worker(self, worker_id: str) -> None:
        """Raise CallRefused unless the caller may speak for this worker."""
        if self.pod_uid not in (None, worker_id):
            raise CallRefused(
                Reason.POD,
                f"worker_id: is {worker_id}, but the token is bound to pod {self.pod_uid}",
            )


ANYONE = Caller(frozenset(Role))
