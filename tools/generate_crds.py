"""Write the CustomResourceDefinitions and their reference: `python -m tools.generate_crds`.

They come from the models in `specfleet_common.api`: as plain manifests in crds/, as templates of
the chart, which keeps them when it is uninstalled, and as a page of docs/.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.crds.definitions import RESOURCES, definition
from tools.crds.reference import reference

ROOT = Path(__file__).resolve().parent.parent
KEEP = {"helm.sh/resource-policy": "keep"}

_MADE_BY = "# Made by `make generate` from specfleet_common.api; change it there.\n"


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, with lists indented as in Kubernetes' documentation."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def main() -> int:
    """Write every file that `files` returns."""
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def files() -> dict[Path, str]:
    """Return what each generated file has to contain."""
    made = {ROOT / "docs" / "reference.md": reference(RESOURCES)}
    for resource in RESOURCES:
        name = f"{resource.plural}.yaml"
        crd = definition(resource)
        made[ROOT / "crds" / name] = _MADE_BY + _yaml(crd)
        templates = ROOT / "charts" / "specfleet" / "templates" / "crds"
        made[templates / name] = _template(crd)
    return made


def _template(crd: Mapping[str, Any]) -> str:
    metadata = {**crd["metadata"], "annotations": KEEP}
    text = _yaml({**crd, "metadata": metadata})
    assert "{{" not in text, "the chart would take this for a template's action"
    return "{{- if .Values.crds.install }}\n" + _MADE_BY + text + "{{- end }}\n"


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


if __name__ == "__main__":
    sys.exit(main())
