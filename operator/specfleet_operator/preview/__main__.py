"""Tells as JSON what would be done: `python -m specfleet_operator.preview`, with JSON as its input.

The input has the `deployments` of operators, the `kinds` of other projects that the cluster knows,
the fleet `before` (null when there is none) and `after`, and its `children`. The output has either
an `error`, or who would do it and the `problem`, `objects` and `pods` that `foreseeing` finds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from specfleet_operator.owning import belonging
from specfleet_operator.preview.foreseeing import foresee
from specfleet_operator.preview.installed import NoOperator, facts_of, operator_of
from specfleet_operator.reading import Problem


def answer(question: Any) -> dict[str, Any]:
    """Return what is told, given what was asked."""
    after = question["after"]
    try:
        operator = operator_of(question["deployments"], after["metadata"]["namespace"])
    except NoOperator as error:
        return {"error": str(error)}
    facts = facts_of(operator, question["kinds"])
    children = belonging(after["metadata"]["uid"], question["children"])
    found = foresee(question["before"], after, children, facts)
    told: dict[str, Any] = {"version": facts.version, "problem": None, "objects": [], "pods": []}
    if isinstance(found, Problem):
        return told | {"problem": asdict(found)}
    return told | {
        "objects": [asdict(one) for one in found.objects],
        "pods": [asdict(one) for one in found.pods],
    }


def main() -> int:
    """Answer one question."""
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
