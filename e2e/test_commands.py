"""What the operator tells the programs of a fleet is what they read."""

from __future__ import annotations

import pytest
from pydantic_settings import BaseSettings

from specfleet_agent.settings import Settings as AgentSettings
from specfleet_aggregator.settings import Settings as AggregatorSettings
from specfleet_engine.settings import Settings as EngineSettings
from specfleet_operator.rendering.aggregator_pod import aggregator_template
from specfleet_operator.rendering.engine_pod import engine_template
from specfleet_operator.tests.building import subject

WANTED = subject(trainer__resources={"limits": {"memory": "4Gi"}})
ENGINES = engine_template(WANTED, WANTED.fleet.spec.all_cohorts[0])["spec"]
AGGREGATOR = aggregator_template(WANTED)["spec"]


def told(containers: list[dict[str, object]], prefix: str) -> dict[str, str]:
    """Return the settings of all containers whose variables begin like this."""
    return {
        variable["name"].removeprefix(prefix).lower(): variable.get("value", "a-value")
        for container in containers
        for variable in container.get("env", [])  # type: ignore[attr-defined]
        if variable["name"].startswith(prefix)
    }


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        pytest.param(
            AgentSettings, told(ENGINES["initContainers"], "SPECFLEET_AGENT_"), id="agent"
        ),
        pytest.param(
            AggregatorSettings,
            told(AGGREGATOR["containers"], "SPECFLEET_AGGREGATOR_"),
            id="aggregator",
        ),
    ],
)
def test_a_program_takes_what_it_is_told(
    settings: type[BaseSettings], given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = settings.model_config["env_prefix"]
    for name, value in given.items():
        monkeypatch.setenv(f"{prefix}{name.upper()}", value)

    settings.model_validate({})

    assert set(given) <= set(settings.model_fields)


def test_the_plugin_knows_every_variable_it_is_given() -> None:
    given = told(ENGINES["containers"], "SPECFLEET_ENGINE_")

    assert set(given) <= set(EngineSettings.__dataclass_fields__)
