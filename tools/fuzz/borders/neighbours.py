"""What an agent reads of its engine and its trainer, and what proves who calls an aggregator."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from specfleet_agent import engine_page, frontend_page, ranks
from specfleet_agent.engine_page import NotAdapted, PageError
from specfleet_agent.heartbeats import heartbeat
from specfleet_agent.mirror import Reading, families
from specfleet_agent.situation import LastStable, Situation
from specfleet_agent.tests.builders import drafter_content, orders, page_content, report, worker
from specfleet_aggregator.callers import CallRefused
from specfleet_aggregator.certificate import pair_fault
from specfleet_aggregator.tests.issuing import EXPECTED, Key, claims, ec_key
from specfleet_aggregator.tokens import parse_keys, verify
from specfleet_common.exchange import (
    ExchangeError,
    Head,
    Orders,
    TrainerReport,
    Walking,
    WalkReport,
    read_message,
)
from specfleet_common.judge.records import Walk
from specfleet_common.store.tests.certificates import certificates
from specfleet_common.wire.access import AccessError, access_by_files
from specfleet_common.wire.codec import encode_heartbeat
from tools.fuzz.border import Border

Message = TypeVar("Message")

_NOW = 1000.0
_REASON = {"adapting": False, "reason": "MissingHook: no drafter"}
_RANK = page_content() | {"engine": "tcp://127.0.0.1:9", "num_ranks": 2, "mismatches": 0}
_WALKING = Walking("p", "0" * 16, Head("a" * 64, "a"), Head("b" * 64, "b"), "c" * 64)
_WALKS = WalkReport("p", "0" * 16, (Walk("r", "c", "", 9, 3, 4, 5),))


def borders() -> tuple[Border, ...]:
    """Return these borders."""
    finished = {
        "request": "r",
        "started": 1.0,
        "ended": 2.0,
        "failed": False,
        "ttft_seconds": 0.1,
        "tpot_seconds": 0.01,
        "preemptions": 0,
    }
    page = page_content(drafters=(drafter_content("stock", bands={2: (3, 5, 0.5)}),))
    return (
        _page("page of an engine", _take_engine_page, page),
        _page("page of another rank", _take_rank, _RANK),
        _page("page of an engine without adapting", _take_reason, _REASON),
        _page("page of an API server", frontend_page.decode, {"requests": [finished]}),
        _message(Orders, orders()),
        _message(TrainerReport, report(delta_digest="d" * 64)),
        _message(Walking, _WALKING),
        _message(WalkReport, _WALKS),
        _message(LastStable, LastStable("0" * 16, 3, "d" * 64, 60.0)),
        Border("token of a call", _take_token, (CallRefused,), (_token().encode(),)),
        Border(
            "set of keys",
            parse_keys,
            (ValueError,),
            (json.dumps({"keys": [_key().public()]}).encode(),),
            is_json=True,
        ),
        Border("file with a token", _take_token_file, (AccessError,), (b"secret\n",)),
        Border("certificate and key", _take_pair, (ValueError,), (_pair(),)),
    )


def _page(name: str, decode: Callable[[dict[str, object]], object], good: object) -> Border:
    def take(data: bytes) -> object:
        """Take what `PageReader` hands on: an object."""
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            return None
        return decode(content) if isinstance(content, dict) else None

    return Border(name, take, (PageError,), (json.dumps(good).encode(),), is_json=True)


def _take_engine_page(content: dict[str, object]) -> None:
    page = engine_page.decode(content)
    assert page.layout.hidden_size > 0
    seen = Situation(page=page)
    tuple(families(Reading(seen)))
    _beat(seen)


def _take_rank(content: dict[str, object]) -> None:
    """Take the page of the second rank of an engine with two."""
    first = engine_page.decode(page_content() | _RANK)
    found = ranks.rank(ranks.decode(content), first)
    _beat(Situation(page=ranks.joined(first, {1: found}, is_lasting=True)))


def _take_reason(content: dict[str, object]) -> None:
    """Take the reason why an engine is not adapted; that it is none is for another border."""
    try:
        engine_page.decode(content)
    except NotAdapted as error:
        _beat(Situation(engine_problem=error.reason))


def _beat(seen: Situation) -> None:
    beat = heartbeat(worker(), seen, trainer_phase="training")
    assert beat is not None
    encode_heartbeat(beat).SerializeToString()


def _message(kind: type[Message], good: Message) -> Border:
    def take(data: bytes) -> Message | None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return read_message(Path(file.name), kind)

    seed = TypeAdapter(kind).dump_json(good)
    return Border(f"message {kind.__name__}", take, (ExchangeError,), (seed,), is_json=True)


@cache
def _key() -> Key:
    return ec_key("key-1")


def _token() -> str:
    return _key().sign(claims(now=_NOW))


def _take_token(data: bytes) -> None:
    keys = parse_keys(json.dumps({"keys": [_key().public()]}).encode())
    verify(data.decode("ascii", "replace"), keys, EXPECTED, now=_NOW)


def _take_token_file(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        token = access_by_files(token_file=Path(file.name)).token()
    assert token is not None and token.isascii()


def _pair() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        made = certificates(Path(directory))
        return made.server.read_bytes() + made.key.read_bytes()


def _take_pair(data: bytes) -> None:
    """Take a certificate and a key in one file."""
    fault = pair_fault(data, data[data.rfind(b"-----BEGIN") :])
    if fault is not None:
        raise ValueError(fault)
