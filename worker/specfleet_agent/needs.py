"""Which global versions a worker uses, and which of those on the volume are like them. Pure."""

from __future__ import annotations

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Files, Serve, Situation, Worker
from specfleet_common.wire.messages import HeartbeatReply, VersionRef


def needed(worker: Worker, page: EnginePage, answer: HeartbeatReply) -> tuple[VersionRef, ...]:
    """Return the versions this worker uses, the one it trains from first."""
    return (*_lasting(worker, answer), *_compared(worker, page, answer), *_walked(worker, answer))


def held(worker: Worker, seen: Situation) -> VersionRef | None:
    """Return the global version that this worker holds, None while it holds none it should."""
    if seen.answer is None:
        return None
    return next((v for v in _lasting(worker, seen.answer) if seen.files.hold(v)), None)


def nearest(version: VersionRef, files: Files) -> VersionRef | None:
    """Return the version on the volume whose number is closest, None when it has no whole one."""
    whole = [(number, digest) for number, digest in sorted(files.versions.items()) if digest]
    if not whole:
        return None
    number, digest = min(whole, key=lambda held: abs(held[0] - version.number))
    return VersionRef(number, digest, size_bytes=0)


def _lasting(worker: Worker, answer: HeartbeatReply) -> tuple[VersionRef, ...]:
    """Return what the worker uses whether or not there is a promotion."""
    lasting = []
    if answer.base is not None and (worker.trains or worker.serve is Serve.LOCAL):
        lasting.append(answer.base)
    if answer.stable is not None and worker.serve is Serve.STABLE:
        lasting.append(answer.stable)
    return tuple(lasting)


def _compared(worker: Worker, page: EnginePage, answer: HeartbeatReply) -> tuple[VersionRef, ...]:
    """Return what the engine is to run in place of stable; stock lies beside it already."""
    if worker.serve is not Serve.STABLE:
        return ()
    versions = [] if answer.serve is None else [answer.serve]
    if answer.comparison is not None:
        versions += [answer.comparison.trial, answer.comparison.base]
    return tuple(version for version in versions if version.digest != page.stock_digest)


def _walked(worker: Worker, answer: HeartbeatReply) -> tuple[VersionRef, ...]:
    if answer.walk is None or not worker.trains:
        return ()
    return (answer.walk.candidate, answer.walk.stable)
