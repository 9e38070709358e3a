"""The plugin's own session and page in a simulated engine: shared memory is as with a real one.

They are there under the conditions under which vLLM loads them: an installed entry point that
VLLM_PLUGINS does not exclude, and the plugin's settings in the environment. As in a vLLM image,
nothing of specfleet need be installed: only this module and what it loads import it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from e2e.simulator.arguments import Speculation
from e2e.simulator.model import Model

if TYPE_CHECKING:
    from e2e.simulator.finishing import Finishing
    from e2e.simulator.telling import Teller
    from specfleet_engine.settings import Settings

log = logging.getLogger("vllm.simulator")

PLUGIN = "specfleet"
WORKER, API_SERVER = "vllm.general_plugins", "vllm.stat_logger_plugins"
RANK = 0


def load(
    model: Model,
    speculation: Speculation | None,
    environment: Mapping[str, str],
    *,
    is_whole: Callable[[], bool],
) -> Teller | None:
    """Return the way to the plugin, not started yet; None when vLLM would have no plugin."""
    settings = _settings(WORKER, environment)
    if settings is None:
        return None
    from specfleet_engine.opening import say_why

    try:
        return _open(model, speculation, settings, is_whole)
    except Exception as error:  # noqa: BLE001 - an engine that cannot adapt must still serve
        log.error("specfleet does not adapt this engine, it serves on without: %s", error)
        say_why(settings, RANK, error)
        return None


def load_page(environment: Mapping[str, str]) -> Finishing | None:
    """Return the frontend page, not started yet; None when vLLM would have none."""
    settings = _settings(API_SERVER, environment)
    if settings is None:
        return None
    from e2e.simulator.finishing import Finishing
    from specfleet_engine.frontend import FrontendPage

    try:
        return Finishing(FrontendPage.create(settings.shm_directory))
    except OSError as error:
        log.error("specfleet does not tell how requests fare: %s", error)
        return None


def _settings(group: str, environment: Mapping[str, str]) -> Settings | None:
    """Return the plugin's settings; None where vLLM would not load it, and where they are wrong."""
    if not is_installed(group, environment):
        log.info("no plugin %s of %s", PLUGIN, group)
        return None
    from specfleet_engine.settings import SettingsError, read_settings

    try:
        return read_settings(environment)
    except SettingsError as error:
        log.error("specfleet does not adapt this engine: %s", error)
        return None


def is_installed(group: str, environment: Mapping[str, str]) -> bool:
    """Say whether vLLM would load the plugin's part of a group."""
    allowed = environment.get("VLLM_PLUGINS")
    if allowed is not None and PLUGIN not in allowed.split(","):
        return False
    return any(point.name == PLUGIN for point in entry_points(group=group))


def _open(
    model: Model,
    speculation: Speculation | None,
    settings: Settings,
    is_whole: Callable[[], bool],
) -> Teller:
    from e2e.simulator.drafter import SimulatedDrafter
    from e2e.simulator.telling import StepClock, Teller
    from specfleet_common.shm.layout import Layout
    from specfleet_engine.layouts import LayoutError
    from specfleet_engine.opening import open_session

    if speculation is None:
        raise LayoutError("the engine does not speculate, expected --speculative-config")
    drafter = SimulatedDrafter(model, method=speculation.method, is_whole=is_whole)
    lineage = drafter.lineage()
    layout = Layout(
        family=lineage.family,
        layout=lineage.layout,
        lineage_id=lineage.id,
        hidden_size=model.hidden_size,
        hidden_dtype=model.dtype,
        num_speculative_tokens=speculation.num_speculative_tokens,
    )
    log.info("specfleet adapts this engine: lineage %s, %s", lineage.id, layout)
    clock = StepClock()
    session = open_session(
        settings, layout=layout, lineage=lineage, live=drafter, rank=RANK, clock=clock
    )
    return Teller(session, drafter, clock, model=model, depth=speculation.num_speculative_tokens)
