"""What people and other programs write down: manifests, settings, files of prompts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from specfleet_cli.endpoints import Endpoint, EndpointsError, Fleet, read_fleet
from specfleet_cli.planning.manifests import PlanError, fleets_of
from specfleet_cli.traffic.prompts import PromptsError, read_documents
from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.learning import SettingsError, parse_settings
from specfleet_common.api.loading import ManifestError, load_fleet, parse_fleet
from specfleet_common.api.testing import fleet_object, learning, manifest
from specfleet_common.store.location import DirectoryLocation
from tools.fuzz.border import Border


def borders() -> tuple[Border, ...]:
    """Return the borders of documents."""
    listed = manifest(
        spec__cohorts=[{"name": "a", "replicas": 1, "train": True, "serve": "Stock"}],
        spec__engine__args=["--max-num-seqs", "4"],
        spec__engine__env=[{"name": "A", "value": "b"}],
    )
    listed_object = fleet_object(
        spec__engine__resources={"limits": {"cpu": 2, "memory": "2Gi"}},
        spec__engine__pod__tolerations=[{"operator": "Exists"}],
        spec__networkPolicy={"ingressFrom": [{}]},
    )
    seeds = (listed.encode(), json.dumps(fleet_object()).encode())
    return (
        Border("manifest", _in_a_file(load_fleet), (ManifestError,), seeds),
        Border("manifest as text", _take_text, (ManifestError,), seeds, is_json=True),
        Border("manifest to plan", _in_a_file(_take_plan), (PlanError,), seeds),
        Border(
            "fleet of a cluster",
            _take_object,
            (ValueError,),
            (json.dumps(listed_object).encode(),),
            is_json=True,
        ),
        Border(
            "settings file",
            parse_settings,
            (SettingsError,),
            (learning().model_dump_json(by_alias=True).encode(),),
            is_json=True,
        ),
        Border(
            "fleet.json", _in_a_file(read_fleet), (EndpointsError,), (_endpoints(),), is_json=True
        ),
        Border(
            "documents of prompts",
            _in_a_file(read_documents),
            (PromptsError,),
            (b'{"id": "a", "text": "b"}\n{"id": "c", "text": "d"}\n',),
            is_json=True,
        ),
    )


def _in_a_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def take(data: bytes) -> object:
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            file.write(data)
            file.flush()
            return read(Path(file.name))

    return take


def _take_text(data: bytes) -> object:
    return parse_fleet(data.decode(errors="replace"), source="fleet.yaml")


def _take_plan(path: Path) -> object:
    return fleets_of(str(path), "default", is_chosen=False)


def _take_object(data: bytes) -> None:
    """Take JSON that an API server would send: an object with an object as metadata."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict) and isinstance(document.get("metadata"), dict):
        fleet_from_object(document)


def _endpoints() -> bytes:
    fleet = Fleet(
        fleet="tiny",
        pid=1,
        served_model_name="tiny",
        store=DirectoryLocation(path=Path("/store")),
        aggregator_address="127.0.0.1:1",
        token_file="/token",
        aggregator=Endpoint("aggregator", "http://127.0.0.1:2", None, 1, "/log"),
        workers=(),
    )
    return TypeAdapter(Fleet).dump_json(fleet)
