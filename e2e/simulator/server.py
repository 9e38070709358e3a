"""Start, serve and stop, in the order in which vLLM's API server does it.

The port is bound at once and listened on when the engine has started. At SIGTERM the engine aborts
what is under way, or finishes it within --shutdown-timeout; then the answers go out and it ends.
Without that timeout vLLM sometimes neither answers what it aborts nor ends; this always does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from typing import Any

from aiohttp import web

from e2e.simulator import plugin
from e2e.simulator.api import Api
from e2e.simulator.arguments import Arguments, read_arguments
from e2e.simulator.behaviour import Behaviour, BehaviourError, read_behaviour, read_start_seconds
from e2e.simulator.crashing import Crash
from e2e.simulator.engine import Engine
from e2e.simulator.knobs import Knobs
from e2e.simulator.metrics import Metrics
from e2e.simulator.middleware import Middleware
from e2e.simulator.model import Model, ModelError, read_model

KEEP_ALIVE_SECONDS = 5.0
BACKLOG = 2048
LAST_ANSWERS_SECONDS = 10.0

log = logging.getLogger("vllm.simulator")


def main() -> None:
    """Serve until SIGTERM; exit code 0 then, 2 for arguments or settings that cannot be used."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(asctime)s %(message)s"
    )
    arguments = read_arguments(sys.argv[1:])
    try:
        behaviour = read_behaviour(os.environ)
        start_seconds = read_start_seconds(os.environ)
        model = read_model(
            arguments.model, dtype=arguments.dtype, max_model_len=arguments.max_model_len
        )
    except (BehaviourError, ModelError) as error:
        log.error("%s", error)
        sys.exit(2)
    log.info("simulates %s; ignored arguments: %s", model, list(arguments.ignored))
    # As in vLLM: while the engine starts, SIGTERM ends the process as an interrupt does.
    signal.signal(signal.SIGTERM, _interrupt)
    asyncio.run(serve(arguments, model, behaviour, start_seconds=start_seconds))


async def serve(
    arguments: Arguments, model: Model, behaviour: Behaviour, *, start_seconds: float
) -> None:
    """Start the engine, then serve until SIGTERM or SIGINT."""
    crash = Crash()
    crash.set(behaviour.crash_after_seconds)
    with _bound(arguments.host, arguments.port) as listener:
        log.info("starts, which takes %g s", start_seconds)
        await asyncio.sleep(start_seconds)
        speculation = arguments.speculation
        depth = 0 if speculation is None else speculation.num_speculative_tokens
        knobs = Knobs(behaviour)
        teller = plugin.load(
            model, speculation, os.environ, is_whole=lambda: not knobs.behaviour.mismatch
        )
        finishing = plugin.load_page(os.environ)
        metrics = Metrics(arguments.served_model_name, num_speculative_tokens=depth)
        engine = Engine(
            model,
            knobs=knobs,
            metrics=metrics,
            teller=teller,
            finishing=finishing,
            num_speculative_tokens=depth,
            max_num_seqs=arguments.max_num_seqs,
        )
        api = Api(
            engine,
            name=socket.gethostname(),
            model=model,
            served_model_name=arguments.served_model_name,
            knobs=knobs,
            metrics=metrics,
            middleware=Middleware(arguments.middleware),
            crash=crash,
        )
        if teller is not None:
            teller.start()
        if finishing is not None:
            finishing.start()
        await _serve_http(api, engine, listener, arguments.shutdown_timeout_seconds)


async def _serve_http(
    api: Api, engine: Engine, listener: socket.socket, shutdown_timeout_seconds: float
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    runner = web.AppRunner(
        api.application(),
        # A client that goes away ends its request, as in vLLM.
        handler_cancellation=True,
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        shutdown_timeout=LAST_ANSWERS_SECONDS,
        access_log=None,
    )
    await runner.setup()
    await web.SockSite(runner, listener, backlog=BACKLOG).start()
    log.info("listens on %s", listener.getsockname())
    stepping = asyncio.create_task(engine.run())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((stepping, stopping), return_when=asyncio.FIRST_COMPLETED)
    if stepping.done():
        stepping.result()
    log.info("stops: requests under way get %g s", shutdown_timeout_seconds)
    await engine.stop(timeout_seconds=shutdown_timeout_seconds)
    await runner.cleanup()
    stepping.cancel()


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that has the port but does not listen: connections are refused."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    return listener


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt("terminated")
