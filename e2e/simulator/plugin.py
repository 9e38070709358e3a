"""The plugin's own session in a simulated engine: the same pages, bank and ring as in a real one.

It is there under the conditions under which vLLM loads the plugin: an installed entry point that
VLLM_PLUGINS does not exclude, and the plugin's settings in the environment. As in a vLLM image,
nothing of specfleet need be installed: only this module and what it loads import it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from e2e.simulator.arguments import Speculation
from e2e.simulator.model import Model

if TYPE_CHECKING:
    from e2e.simulator.telling import Teller
    from specfleet_engine.settings import Settings

log = logging.getLogger("vllm.simulator")

PLUGIN = "specfleet"
RANK = 0


def load(
    model: Model, speculation: Speculation | None, environment: Mapping[str, str]
) -> Teller | None:
    """Return the way to the plugin, not started yet; None when vLLM would have no plugin."""
    if not is_installed(environment):
        log.info("no plugin %s: nothing is shared with a sidecar", PLUGIN)
        return None
    from specfleet_engine.opening import say_why
    from specfleet_engine.settings import SettingsError, read_settings

    try:
        settings = read_settings(environment)
    except SettingsError as error:
        log.error("specfleet does not adapt this engine: %s", error)
        return None
    if settings is None:
        return None
    try:
        return _open(model, speculation, settings)
    except Exception as error:  # noqa: BLE001 - an engine that cannot adapt must still serve
        log.error("specfleet does not adapt this engine, it serves on without: %s", error)
        say_why(settings, RANK, error)
        return None


def is_installed(environment: Mapping[str, str]) -> bool:
    """Say whether vLLM would load the plugin."""
    allowed = environment.get("VLLM_PLUGINS")
    if allowed is not None and PLUGIN not in allowed.split(","):
        return False
    return any(point.name == PLUGIN for point in entry_points(group="vllm.general_plugins"))


def _open(model: Model, speculation: Speculation | None, settings: Settings) -> Teller:
    from e2e.simulator.drafter import SimulatedDrafter
    from e2e.simulator.telling import Teller
    from specfleet_common.shm.layout import Layout
    from specfleet_engine.layouts import LayoutError
    from specfleet_engine.opening import open_session

    if speculation is None:
        raise LayoutError("the engine does not speculate, expected --speculative-config")
    drafter = SimulatedDrafter(model, method=speculation.method)
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
    session = open_session(settings, layout=layout, lineage=lineage, live=drafter, rank=RANK)
    return Teller(session, drafter, model=model, depth=speculation.num_speculative_tokens)
