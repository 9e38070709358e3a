"""Start one real vLLM server with the plugin, and talk to it as a client and as an agent would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specfleet_agent.engine_page import decode as decode_page
from specfleet_cli.place import free_ports
from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.capture import decode
from specfleet_common.shm.names import BANK_FILE, FRONTEND_PAGE_FILE, RING_FILE, page_file
from specfleet_common.shm.pages import PageReader
from specfleet_common.shm.ring import RingReader
from specfleet_trainer.joining import Joiner
from specfleet_trainer.sequences import Sequence as Rows

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples/tiny-mimo"
START_SECONDS = 480
STOP_SECONDS = 20
ANSWER_SECONDS = 600
"""An engine whose kernels are interpreted takes minutes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Token ids of one completion."""

    prompt: tuple[int, ...]
    output: tuple[int, ...]


class Engine:
    """A running server and the shared memory of its plugin."""

    def __init__(self, port: int, shm: Path, process: subprocess.Popen[bytes]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.shm = shm
        self.process = process
        self._joiner = Joiner(max_rows=2048, max_open_rows=1 << 20)
        self._ring: RingReader | None = None
        self.bank: BankWriter | None = None

    def page(self) -> dict[str, Any]:
        """Return the rank page."""
        page = PageReader.attach(self.shm / page_file(0)).read()
        assert page is not None, "the rank page is empty"
        return page

    def frontend(self) -> dict[str, Any]:
        """Return the frontend page."""
        page = PageReader.attach(self.shm / FRONTEND_PAGE_FILE).read()
        assert page is not None, "the frontend page is empty"
        return page

    def told(self, *names: str, seconds: float = 10) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return what frontend page and rank page tell of requests, once both do."""
        deadline = time.monotonic() + seconds
        while True:
            pages = (self.frontend(), self.page())
            frontend, rank = ({one["request"]: one for one in page["requests"]} for page in pages)
            missing = [name for name in names if name not in frontend or name not in rank]
            if not missing:
                return [(frontend[name], rank[name]) for name in names]
            assert time.monotonic() < deadline, f"nothing is told of {missing}: {pages}"
            time.sleep(0.05)

    def is_up(self) -> bool:
        """Say whether the server answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False

    def complete(self, prompts: Sequence[str], *, max_tokens: int) -> list[Answer]:
        """Answer all prompts greedily, eight at a time."""
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda prompt: self._complete(prompt, max_tokens), prompts))

    def _complete(self, prompt: str, max_tokens: int) -> Answer:
        body = {
            "model": "tiny",
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "return_token_ids": True,
        }
        request = urllib.request.Request(
            f"{self.url}/v1/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as reply:
            choice = json.load(reply)["choices"][0]
        return Answer(tuple(choice["prompt_token_ids"]), tuple(choice["token_ids"]))

    def captured(self, *, requests: int, seconds: float = 10) -> list[Rows]:
        """Return the sequences that ended since the last call, at least `requests` of them."""
        if self._ring is None:
            self._ring = RingReader.attach(self.shm / RING_FILE)
        found: list[Rows] = []
        deadline = time.monotonic() + seconds
        while len(found) < requests and time.monotonic() < deadline:
            while (record := self._ring.read()) is not None:
                sequence = self._joiner.add(decode(record, self._ring.layout))
                if sequence is not None:
                    found.append(sequence)
            time.sleep(0.05)
        return found

    def publish(self, data: bytes, digest: str, label: str) -> None:
        """Put weights into the bank, and wait until the engine reports them as observed."""
        if self.bank is None:
            layout = decode_page(self.page()).layout
            self.bank = BankWriter.create(self.shm / BANK_FILE, layout, slot_bytes=2 * len(data))
        self.bank.publish([data], digest, label)
        self.wait(lambda page: page["observed_digest"] == digest, what=f"observed {digest[:8]}")

    def counted(self) -> tuple[int, int]:
        """Return verify steps and accepted tokens of all drafters, everything up to now counted."""
        beats = self.page()["beats"]
        # The page of the next beat may have been begun before the newest step ended.
        page = self.wait(lambda page: page["beats"] >= beats + 2, what="two more pages")
        return (
            sum(drafter["verify_steps"] for drafter in page["drafters"]),
            sum(sum(drafter["accepted"]) for drafter in page["drafters"]),
        )

    def wait(self, condition: Any, *, what: str, seconds: float = 20) -> dict[str, Any]:
        """Return the first rank page that fulfils the condition."""
        deadline = time.monotonic() + seconds
        while not condition(page := self.page()):
            assert time.monotonic() < deadline, f"not {what} within {seconds} s: {page}"
            time.sleep(0.05)
        return page


@contextmanager
def running_engine(
    folder: Path,
    *arguments: str,
    capture: bool = True,
    speculate: bool = True,
    environment: Mapping[str, str] | None = None,
    model: Path = MODEL,
    dtype: str = "float32",
    eager: bool = True,
) -> Iterator[Engine]:
    """Run a server with a small model for the time of a `with` block; its log is in `folder`.

    Without speculation there is no drafter, and nothing in shared memory. `environment` is added.
    Unless `eager`, vLLM compiles the model and, on a GPU, records CUDA graphs.
    """
    (port,), shm = free_ports(1), folder / "shm"
    variables = os.environ | {
        "SPECFLEET_ENGINE_SHM_DIRECTORY": str(shm),
        "SPECFLEET_ENGINE_FLEET": "e2e",
        "SPECFLEET_ENGINE_KEY_TOKENS": "16",
        "SPECFLEET_ENGINE_CAPTURE": str(int(capture)),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_USE_V2_MODEL_RUNNER": "0",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        **(environment or {}),
    }
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(model), "--served-model-name", "tiny", "--trust-remote-code"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--enforce-eager"] if eager else []
    command += ["--dtype", dtype, "--max-model-len", "512", "--max-num-seqs", "16"]
    if speculate:
        command += ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}']
    log = folder / "engine.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *arguments],
            env=variables,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        engine = Engine(port, shm, process)
        deadline = time.monotonic() + START_SECONDS
        while not engine.is_up():
            alive = process.poll() is None and time.monotonic() < deadline
            assert alive, f"vLLM did not start:\n{log.read_text()[-4000:]}"
            time.sleep(0.5)
        yield engine
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
