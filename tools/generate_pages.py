"""Write the generated pages of docs/ but the fields': `python -m tools.generate_pages`.

Commands, metrics, settings of the programs, values of the chart, what is refused. The fields' page
comes with the definitions (tools/generate_crds.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import typer.main

from specfleet_agent.settings import Settings as AgentSettings
from specfleet_aggregator.settings import Settings as AggregatorSettings
from specfleet_cli.app import app
from specfleet_engine.settings import PREFIX
from specfleet_engine.settings import Settings as EngineSettings
from specfleet_operator.settings import Settings as OperatorSettings
from specfleet_trainer.settings import Settings as TrainerSettings
from tools.bad_input.page import bad_input_page
from tools.documentation.commands import commands_page
from tools.documentation.metrics import metrics_page
from tools.documentation.settings import Program, settings_page
from tools.documentation.values import values_page

ROOT = Path(__file__).resolve().parent.parent

PROGRAMS: Final = (
    Program("Operator", "The chart sets them.", "SPECFLEET_OPERATOR_", OperatorSettings),
    Program(
        "Aggregator",
        "What may change while it runs is in the settings file, which the operator writes.",
        "SPECFLEET_AGGREGATOR_",
        AggregatorSettings,
    ),
    Program("Agent", "The sidecar of an engine.", "SPECFLEET_AGENT_", AgentSettings),
    Program(
        "Trainer", "The agent's child; the agent sets them.", "SPECFLEET_TRAINER_", TrainerSettings
    ),
    Program(
        "Engine plugin",
        "Read inside vLLM. Without the first two the plugin does nothing.",
        PREFIX,
        EngineSettings,
    ),
)


def main() -> int:
    """Write every file that `files` returns."""
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    return 0


def files() -> dict[Path, str]:
    """Return what each generated page has to contain."""
    docs = ROOT / "docs"
    values = ROOT / "charts" / "specfleet" / "values.yaml"
    return {
        docs / "bad-input.md": bad_input_page(),
        docs / "cli.md": commands_page(typer.main.get_command(app)),
        docs / "metrics.md": metrics_page(),
        docs / "settings.md": settings_page(PROGRAMS),
        docs / "values.md": values_page(values.read_text("utf-8")),
    }


if __name__ == "__main__":
    sys.exit(main())
