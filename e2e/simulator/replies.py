"""What an engine answers over HTTP, in the form in which answers of two engines are compared."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from e2e.engines import Engine

MAX_TOKENS = 24
PROMPTS = [f"Question {number}: what does a drafter learn from?" for number in range(6)]


@dataclass(frozen=True, slots=True)
class Reply:
    """What an engine said."""

    status: int
    content_type: str
    text: str

    @property
    def json(self) -> dict[str, Any]:
        """Return the body as an object."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the events of a stream but the last, which says that it is done."""
        lines = [line for line in self.text.split("\n\n") if line]
        assert lines[-1] == "data: [DONE]"
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def ask(engine: Engine, path: str, body: Mapping[str, Any] | None = None, **headers: str) -> Reply:
    """Send one request; an error's answer is an answer too."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{engine.url}{path}", data, {"Content-Type": "application/json", **headers}
    )
    try:
        reply = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        return Reply(reply.status, reply.headers.get_content_type(), reply.read().decode())


def completion(**fields: Any) -> dict[str, Any]:
    """Return the body of a completion, with other fields where they are given."""
    return {
        "model": "tiny",
        "prompt": PROMPTS[0],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        **fields,
    }


def chat(**fields: Any) -> dict[str, Any]:
    """Return the body of a chat, with other fields where they are given."""
    messages = [{"role": "user", "content": "What is a draft?"}]
    return {
        "model": "tiny",
        "messages": messages,
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        **fields,
    }


def samples(engine: Engine) -> dict[tuple[str, str], float]:
    """Return the values of vLLM's metrics by name and by the label that only they have."""
    own = ("finished_reason", "position", "reason")
    return {
        (sample.name, next((sample.labels[key] for key in own if key in sample.labels), "")): (
            sample.value
        )
        for family in text_string_to_metric_families(ask(engine, "/metrics").text)
        for sample in family.samples
        if sample.name.startswith("vllm:") and "le" not in sample.labels
    }


def families(engine: Engine) -> dict[str, tuple[str, frozenset[str], frozenset[str]]]:
    """Return the type, the label names and the buckets of each of vLLM's metrics."""
    return {
        family.name: (
            family.type,
            frozenset(label for sample in family.samples for label in sample.labels),
            frozenset(s.labels["le"] for s in family.samples if "le" in s.labels),
        )
        for family in text_string_to_metric_families(ask(engine, "/metrics").text)
        if family.name.startswith("vllm:") and not family.name.endswith("_created")
    }


def paths(value: Any, prefix: str = "") -> set[str]:
    """Return the fields of an object and of what is in it."""
    if isinstance(value, list):
        return {path for each in value for path in paths(each, f"{prefix}[]")}
    if not isinstance(value, dict):
        return {prefix}
    return {path for key, each in value.items() for path in paths(each, f"{prefix}.{key}")}
