"""One agent with a drafter of 120 million parameters: its memory, and how long it fills the bank.

Around it are a real aggregator, a stand-in for the trainer, and the files of an engine.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from e2e.bench.drafter import LINEAGE
from e2e.bench.memory import watching
from e2e.bench.processes import eventually, running, running_aggregator
from e2e.bench.shapes import FULL
from e2e.bench.timing import repeated
from specfleet_agent import engine_page
from specfleet_agent.bank import Bank
from specfleet_common.exchange import version_file
from specfleet_common.files import write_file
from specfleet_common.shm.bank import BankReader
from specfleet_common.shm.names import BANK_FILE, STOCK_FILE, page_file
from specfleet_common.shm.pages import PageWriter
from specfleet_common.store import versions
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.tensors import content_digest_of_file

VERSIONS = 2


def measure(folder: Path, stock: Path, delta: Path, local: Path) -> dict[str, Any]:
    """Let the agent go through rounds, then fill its bank again and again."""
    shared, state = folder / "shared", folder / "state"
    shared.mkdir(parents=True)
    write_file(shared / STOCK_FILE, stock.read_bytes())
    page = _page(content_digest_of_file(stock))
    PageWriter.create(shared / page_file(0)).write(page)
    store = DirectoryStore(folder / "store")
    with running_aggregator(folder, quorum=1) as (_, address):
        settings = _settings(address, shared=shared, state=state, delta=delta, local=local)
        with running("specfleet_agent", settings) as agent, watching(agent.pid) as peak:

            def is_done() -> bool:
                found = versions.find(store, LINEAGE.id).taken
                has_pulled = (state / version_file(VERSIONS)).exists()
                bank = shared / BANK_FILE
                return found is not None and found >= VERSIONS and has_pulled and bank.exists()

            eventually(is_done, what=f"version {VERSIONS} at the agent")
    decoded = engine_page.decode(page)
    bank, digest = Bank(shared), content_digest_of_file(local)
    filled = repeated(
        lambda: bank.publish(decoded, local, digest=digest, label="local"), at_least=3, seconds=1
    )
    read = repeated(lambda: BankReader.attach(shared / BANK_FILE).read(), at_least=3, seconds=1)
    return {
        "memory": asdict(peak),
        "fill_bank": asdict(filled),
        "engine_reads_bank": asdict(read),
    }


def _settings(
    address: str, *, shared: Path, state: Path, delta: Path, local: Path
) -> dict[str, str]:
    command = [sys.executable, "-m", "e2e.bench.trainer_stand_in", str(delta), str(local)]
    settings = {
        "AGGREGATOR": address,
        "WORKER_ID": "worker-1",
        "SERVE": "Local",
        "STATE_DIRECTORY": str(state),
        "SHM_DIRECTORY": str(shared),
        "MODEL": str(state),
        "ENGINE_SILENCE_SECONDS": "3600",
        "TRAINER_COMMAND": json.dumps(command),
    }
    return {f"SPECFLEET_AGENT_{name}": value for name, value in settings.items()}


def _page(stock_digest: str) -> dict[str, Any]:
    """Return what an engine of this drafter says about itself."""
    return {
        "incarnation": "0123456789abcdef",
        "beats": 1,
        "lineage": asdict(LINEAGE),
        "rows": {
            "hidden_size": FULL.hidden,
            "hidden_dtype": LINEAGE.dtype,
            "num_speculative_tokens": 3,
        },
        "stock_digest": stock_digest,
        "stock_file": STOCK_FILE,
        "observed": "stock",
        "observed_digest": stock_digest,
        "bank_sequence": 0,
        "swaps": 0,
        "refused_banks": {},
        "capture": {"taken_rows": 0, "dropped_records": 0},
        "drafters": [],
        "adapting": True,
        "reason": "",
    }
