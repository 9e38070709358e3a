from __future__ import annotations

import json
import sys
from pathlib import Path

from specfleet_agent.agent import trainer_process
from specfleet_agent.settings import Settings

WRITE_ENVIRONMENT = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"


def test_the_trainer_is_told_its_threads_and_cores_and_not_to_spin(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    settings = Settings(
        aggregator="127.0.0.1:1",
        worker_id="worker",
        state_directory=tmp_path,
        shm_directory=tmp_path,
        model=tmp_path,
        trainer_command=(sys.executable, "-c", WRITE_ENVIRONMENT, str(told)),
        trainer_threads=2,
        trainer_cores=frozenset({1, 0}),
    )
    process = trainer_process(settings, {"KEPT": "yes"})

    process.start()

    assert process.handle is not None and process.handle.wait(60) == 0
    environment = json.loads(told.read_text())
    assert environment["KEPT"] == "yes"
    assert environment["SPECFLEET_TRAINER_THREADS"] == "2"
    assert environment["SPECFLEET_TRAINER_CORES"] == "[0, 1]"
    assert environment["TORCHINDUCTOR_CACHE_DIR"].startswith(str(tmp_path))
    assert (environment["OMP_WAIT_POLICY"], environment["KMP_BLOCKTIME"]) == ("PASSIVE", "0")
