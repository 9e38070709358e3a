"""What the agent should move next between aggregator, trainer and volume. Pure: one step at a time.

Each step, once carried out, changes what the next decision sees; so a step may be lost, repeated or
cut short at any point.
"""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.needs import nearest, needed
from specfleet_agent.situation import Files, LastStable, Serve, Situation, Worker
from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import Head, Orders, Walking, delta_file, version_file
from specfleet_common.lineage import Lineage, short
from specfleet_common.wire.messages import HeartbeatReply, Outcome, VersionRef


@dataclass(frozen=True, slots=True)
class PutStock:
    """Hand in the drafter as shipped."""

    lineage: Lineage
    digest: str
    file: str


@dataclass(frozen=True, slots=True)
class PushDelta:
    """Hand in the trainer's delta of one round."""

    lineage_id: str
    round: int
    base_version: int
    digest: str
    steps: int
    positions: int
    codec: Codec


@dataclass(frozen=True, slots=True)
class Pull:
    """Fetch a version; `have` is one that is here and most like it, None when there is none."""

    lineage_id: str
    version: VersionRef
    have: VersionRef | None


@dataclass(frozen=True, slots=True)
class WriteOrders:
    """Tell the trainer what to do."""

    orders: Orders


@dataclass(frozen=True, slots=True)
class WriteWalking:
    """Tell the trainer which heads to walk, None to walk none."""

    walking: Walking | None


@dataclass(frozen=True, slots=True)
class RememberStable:
    """Keep what is stable for the time after a restart."""

    stable: LastStable


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete files that nobody needs any more."""

    files: tuple[str, ...]


Transfer = PutStock | PushDelta | Pull | WriteOrders | WriteWalking | RememberStable | Remove


@dataclass(frozen=True, slots=True)
class Pushed:
    """The last delta handed in, and what became of it."""

    digest: str
    outcome: Outcome
    answered_at: float


@dataclass(frozen=True, slots=True)
class Next:
    """The next transfer, None when all is where it should be, and the reason in one sentence."""

    transfer: Transfer | None
    reason: str


def next_transfer(worker: Worker, seen: Situation, *, pushed: Pushed | None) -> Next:
    """Say what to move next."""
    page, answer, files = seen.page, seen.answer, seen.files
    if page is None:
        return Next(None, "there is no engine yet")
    if answer is None or seen.reply is None:
        return Next(None, "the aggregator has not answered yet")
    lineage_id = page.lineage.id

    stable = _stable(worker, lineage_id, answer)
    if stable is not None and stable != files.stable:
        return Next(RememberStable(stable), f"version {stable.number} is stable")

    if answer.stock_wanted and files.stock_digest == page.stock_digest:
        stock = PutStock(page.lineage, page.stock_digest, page.stock_file)
        return Next(stock, "the aggregator has no version 0 yet")

    push = _due_push(worker, lineage_id, answer, files)
    if push is not None and _may_push(push, pushed, asked_at=seen.reply.asked_at):
        return Next(push, f"the trainer has finished round {push.round}")

    # As soon as its version is here: what else is to be pulled does not keep the trainer waiting.
    orders = _orders(page, answer, attempt=_attempt(answer, files, pushed))
    if worker.trains and orders is not None and orders != files.orders and files.hold(answer.base):
        return Next(WriteOrders(orders), f"round {orders.round} starts from {orders.version}")

    for version in needed(worker, page, answer):
        if not files.hold(version):
            why = f"version {version.number} ({short(version.digest)}) is not on the volume"
            return Next(Pull(lineage_id, version, nearest(version, files)), why)

    walking = _walking(worker, page, answer)
    if walking != files.walking:
        return Next(WriteWalking(walking), _walking_reason(walking))

    unneeded = _unneeded(worker, page, answer, files)
    if unneeded:
        return Next(Remove(unneeded), f"round {answer.round} does not need older files")
    return Next(None, _idle_reason(page, answer, files, push, pushed))


def _stable(worker: Worker, lineage_id: str, answer: HeartbeatReply) -> LastStable | None:
    if answer.stable is None or worker.serve is not Serve.STABLE:
        return None
    return LastStable(lineage_id, answer.stable.number, answer.stable.digest, answer.lease_seconds)


def _walking(worker: Worker, page: EnginePage, answer: HeartbeatReply) -> Walking | None:
    walk = answer.walk
    if walk is None or not worker.trains:
        return None
    return Walking(
        promotion=walk.promotion,
        lineage_id=page.lineage.id,
        candidate=Head(walk.candidate.digest, version_file(walk.candidate.number)),
        stable=Head(walk.stable.digest, version_file(walk.stable.number)),
        stock_digest=page.stock_digest,
    )


def _walking_reason(walking: Walking | None) -> str:
    return "there is nothing to walk" if walking is None else f"{walking.promotion} is to be walked"


def _attempt(answer: HeartbeatReply, files: Files, pushed: Pushed | None) -> int:
    """Return the attempt at the open round: one more when the delta of the last was refused."""
    orders, report = files.orders, files.report
    if report is not None and pushed is not None:
        was_refused = (report.delta_digest, Outcome.REFUSED) == (pushed.digest, pushed.outcome)
        if was_refused and report.delta_round == answer.round:
            return report.attempt + 1
    is_same_round = orders is not None and orders.round == answer.round
    return orders.attempt if orders is not None and is_same_round else 0


def _orders(page: EnginePage, answer: HeartbeatReply, *, attempt: int) -> Orders | None:
    if answer.base is None:
        return None
    return Orders(
        lineage_id=page.lineage.id,
        dtype=page.lineage.dtype,
        round=answer.round,
        version=answer.base.number,
        digest=answer.base.digest,
        base_file=version_file(answer.base.number),
        local_steps=answer.orders.local_steps,
        learning_rate=answer.orders.learning_rate,
        depth_weights=answer.orders.depth_weights,
        rows_per_step=answer.orders.rows_per_step,
        publish_every_steps=answer.orders.publish_every_steps,
        attempt=attempt,
        codec=answer.orders.codec,
        dpace=answer.orders.dpace,
        counted_version=answer.counted_version,
        fresh=answer.orders.fresh,
    )


def _due_push(
    worker: Worker, lineage_id: str, answer: HeartbeatReply, files: Files
) -> PushDelta | None:
    """Return the delta of the open round, None while there is none or it has been counted."""
    report = files.report
    if not worker.trains or report is None or answer.base is None or answer.delta_counted:
        return None
    wanted = (lineage_id, answer.round, answer.base.number)
    if (report.lineage_id, report.delta_round, report.version) != wanted:
        return None
    if not report.delta_digest or report.delta_round not in files.deltas:
        return None
    return PushDelta(
        lineage_id=lineage_id,
        round=report.delta_round,
        base_version=report.version,
        digest=report.delta_digest,
        steps=answer.orders.local_steps,
        positions=report.delta_positions,
        codec=report.delta_codec,
    )


def _may_push(push: PushDelta, pushed: Pushed | None, *, asked_at: float) -> bool:
    """Say whether this delta should go out (again).

    One that was refused never does. Any other goes out once more when a reply that was asked for
    after its answer still misses it: the aggregator has restarted since.
    """
    if pushed is None or pushed.digest != push.digest:
        return True
    if pushed.outcome in (Outcome.REFUSED, Outcome.FOREIGN):
        return False
    return asked_at > pushed.answered_at


def _unneeded(
    worker: Worker, page: EnginePage, answer: HeartbeatReply, files: Files
) -> tuple[str, ...]:
    if answer.base is None:
        return ()
    keep = {version.number for version in needed(worker, page, answer)}
    versions = [version_file(n) for n in sorted(files.versions) if n not in keep]
    deltas = [delta_file(n) for n in sorted(files.deltas) if n < answer.round]
    return (*versions, *deltas)


def _idle_reason(
    page: EnginePage,
    answer: HeartbeatReply,
    files: Files,
    push: PushDelta | None,
    pushed: Pushed | None,
) -> str:
    if answer.stock_wanted and files.stock_digest is None:
        return f"{page.stock_file} is wanted, but the engine has not written it yet"
    if answer.stock_wanted:
        actual = short(files.stock_digest or "") or "none, it is not safetensors"
        return (
            f"{page.stock_file} is wanted, but its digest is {actual}, "
            f"expected {short(page.stock_digest)}: it is not handed in"
        )
    if push is not None and pushed is not None and pushed.outcome is not Outcome.ACCEPTED:
        return f"the delta of round {push.round} was {pushed.outcome}"
    if answer.base is None:
        return "the aggregator has no version yet"
    return f"in round {answer.round} from version {answer.base.number}"
