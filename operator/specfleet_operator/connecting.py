"""Where the API server is, who we are to it, and the HTTP sessions to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from specfleet_operator.api import NotLeading


class Connection:
    """Where the API server is and who we are to it."""

    def __init__(self, configuration: Configuration, *, user_agent: str) -> None:
        self.url: str = configuration.host.rstrip("/")
        configuration.connection_pool_maxsize = 0  # no limit: every watch holds a connection
        self._configuration = configuration
        self._user_agent = user_agent
        self._sessions: list[aiohttp.ClientSession] = []

    def session(self, *, only_reads: bool = False) -> aiohttp.ClientSession:
        """Return a new session, which closes with the connection."""
        # The tokens of pods are replaced while these run, so the header is asked for every time.
        middlewares = (self._authenticate, _refuse_writes) if only_reads else (self._authenticate,)
        self._configuration.client_session_kwargs = {
            "middlewares": middlewares,
            "headers": {"User-Agent": self._user_agent},
        }
        session: aiohttp.ClientSession = _Rest(self._configuration).new_session()
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close all sessions."""
        for session in self._sessions:
            await session.close()

    async def _authenticate(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        header = await self._configuration.get_api_key_with_prefix(
            "BearerToken", alias="authorization"
        )
        if header:
            request.headers["Authorization"] = header
        return await handler(request)


class NoCluster(Exception):
    """Nothing says where an API server is."""


async def found_configuration() -> Configuration:
    """Return how to connect: as the pod's service account, or outside of a pod by kubeconfig."""
    configuration = Configuration()
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except ConfigException:
        try:
            await load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except ConfigException as error:
            raise NoCluster(f"neither in a pod nor with a kubeconfig: {error}") from error
    return configuration


@asynccontextmanager
async def connection_by_kubeconfig(path: Path, user_agent: str) -> AsyncIterator[Connection]:
    """Connect as the current context of a kubeconfig says."""
    configuration = Configuration()
    await load_kube_config(  # type: ignore[no-untyped-call]
        config_file=str(path), client_configuration=configuration
    )
    async with connected(configuration, user_agent) as connection:
        yield connection


@asynccontextmanager
async def connected(configuration: Configuration, user_agent: str) -> AsyncIterator[Connection]:
    """Give a connection, and close its sessions after the block."""
    connection = Connection(configuration, user_agent=user_agent)
    try:
        yield connection
    finally:
        await connection.close()


class _Rest(RESTClientObject):
    """Knows how to make sessions as the configuration says: TLS, proxy, client certificate."""

    def new_session(self) -> aiohttp.ClientSession:
        return self._create_pool_manager()


async def _refuse_writes(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    if request.method not in ("GET", "HEAD"):
        raise NotLeading(f"{request.method} {request.url.path}: this session only reads")
    return await handler(request)
