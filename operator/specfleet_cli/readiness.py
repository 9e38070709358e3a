"""Finds out whether a process answers: HTTP 200 on its health path."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import httpx

from specfleet_cli.plan import ProcessPlan

POLL_SECONDS = 0.5
TIMEOUT_SECONDS = 5.0


class Prober:
    """Asks processes until they answer, with one HTTP client for all of them."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def __call__(self, process: ProcessPlan) -> None:
        """Return once the process is ready."""
        while True:
            if await self._answers(process):
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _answers(self, process: ProcessPlan) -> bool:
        try:
            answer = await self._client.get(
                process.url + process.health_path, timeout=TIMEOUT_SECONDS
            )
        except httpx.HTTPError:
            return False
        return answer.status_code == HTTPStatus.OK
