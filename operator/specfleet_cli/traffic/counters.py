"""Speculation counters of an engine, from the text of its /metrics. Pure."""

from __future__ import annotations

from specfleet_cli.acceptance import Reading

_DRAFTS = "vllm:spec_decode_num_drafts_total"
_ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"


def read_counters(text: str, *, at: float) -> Reading | None:
    """Return the counters, summed over an engine's parts; None when it does not speculate."""
    drafts = _total(text, _DRAFTS)
    accepted = _total(text, _ACCEPTED)
    if drafts is None or accepted is None:
        return None
    return Reading(at=at, verify_steps=round(drafts), accepted=round(accepted))


def _total(text: str, name: str) -> float | None:
    values = [
        float(line.rsplit(None, 1)[1])
        for line in text.splitlines()
        if line.startswith((f"{name}{{", f"{name} "))
    ]
    return sum(values) if values else None
