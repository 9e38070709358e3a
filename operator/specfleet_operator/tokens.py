"""The operator's own tokens, one per fleet, and the keys by which aggregators verify all tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from specfleet_common.back_off import back_off_seconds
from specfleet_operator.api import Cluster, Refused, SigningKeys, Unreachable

log = structlog.get_logger()

TOKEN_SECONDS = 3600
RENEW_SHARE = 0.8
KEYS_SECONDS = 300.0
LAST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FreshToken:
    """A token, and the time on our clock when it should be replaced."""

    value: str
    renew_at: float


class Tokens:
    """Asks for tokens of the operator's account, and for the next before one runs out."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        namespace: str,
        service_account: str,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._service_account = service_account
        self._clock = clock
        self._tokens: dict[str, FreshToken] = {}

    async def get(self, audience: str) -> FreshToken:
        """Return a token for an audience that is good for a while."""
        known = self._tokens.get(audience)
        asked_at = self._clock()
        if known is not None and asked_at < known.renew_at:
            return known
        token = await self._cluster.token(
            self._namespace, self._service_account, audience=audience, seconds=TOKEN_SECONDS
        )
        fresh = FreshToken(token.value, asked_at + RENEW_SHARE * token.lifetime_seconds)
        self._tokens[audience] = fresh
        return fresh

    def forget(self, audience: str) -> None:
        """Drop the token for an audience: it is needed no more, or was not accepted."""
        self._tokens.pop(audience, None)


class Keys:
    """The newest keys that sign the cluster's tokens; None while they were never read."""

    def __init__(self, cluster: Cluster, changed: Callable[[], None]) -> None:
        self.current: SigningKeys | None = None
        self.error = "not asked for yet"
        """Why they could not be read, as long as they never could."""
        self._cluster = cluster
        self._changed = changed

    async def keep(self) -> None:
        """Read the keys now and then, for ever."""
        num_failures = 0
        while True:
            try:
                found = await self._cluster.signing_keys()
            except (Unreachable, Refused) as error:
                num_failures += 1
                self.error = str(error)
                pause = back_off_seconds(num_failures, last_seconds=LAST_PAUSE_SECONDS)
                log.warning("signing_keys_unknown", error=str(error), next_seconds=pause)
            else:
                num_failures, pause = 0, KEYS_SECONDS
                if found != self.current:
                    self.current = found
                    self._changed()
            await asyncio.sleep(pause)
