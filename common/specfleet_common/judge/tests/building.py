"""Builders of records: only what a test is about differs from the default."""

from __future__ import annotations

import random

from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.judge.switchback import Arm, Switchback
from specfleet_common.store.entries import PromotionOpened, Rules

PLAN = Switchback(seed="promotion-7", block_seconds=30.0, washout_seconds=5.0)
CANDIDATE, STABLE = "c" * 64, "5" * 64
DIGESTS = {Arm.TRIAL: CANDIDATE, Arm.BASE: STABLE}
STOCK = "0" * 64
OPENED = PromotionOpened(
    kind="promotion_opened",
    at=1.0,
    promotion="1-cccccccccccc",
    number=1,
    digest=CANDIDATE,
    stable_number=0,
    stable_digest=STABLE,
    seed=PLAN.seed,
    rules=Rules(
        minimum_gain=0.005,
        margin=0.01,
        passing=0.03,
        failing=0.05,
        block_seconds=PLAN.block_seconds,
        washout_seconds=PLAN.washout_seconds,
        tpot=0.05,
        ttft=0.1,
        errors=0.01,
        preemptions=0.1,
        recheck_every=20,
    ),
)


def walks(
    count: int,
    *,
    gain: float = 0.0,
    over_stock: float | None = None,
    domain: str = "",
    each: int = 1,
    tokens: int = 200,
    seed: int = 0,
) -> list[Walk]:
    """Return walks of requests, `each` to a conversation, with some noise in the steps."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        stable = tokens // 2 + draw.randint(-20, 20)
        candidate = stable / (1 + gain) + draw.uniform(-2, 2)
        stock = stable if over_stock is None else candidate * (1 + over_stock)
        found.append(
            Walk(
                request=f"{domain}-{number}",
                conversation=f"{domain}-{number // each}",
                domain=domain,
                tokens=tokens,
                candidate_steps=round(candidate),
                stable_steps=stable,
                stock_steps=round(stock),
            )
        )
    return found


def blocks(
    pairs: int,
    *,
    engine: str = "engine-0",
    effect: float = 0.0,
    acceptance: float = 0.0,
    band: int = 3,
    speed: float = 100.0,
    noise: float = 0.02,
    plan: Switchback = PLAN,
    seed: int = 0,
) -> list[Block]:
    """Return what one engine did in pairs of blocks; `effect` is the trial arm's on its speed."""
    draw = random.Random(f"{seed}/{engine}/{band}")
    found = []
    for block in range(2 * pairs):
        arm = plan.arm(engine, block)
        is_trial = arm is Arm.TRIAL
        rate = speed * (1 + draw.uniform(-noise, noise)) * (1 + effect * is_trial)
        tokens = round(20.0 * rate)
        length = 2.2 * (1 + acceptance * is_trial) * (1 + draw.uniform(-0.01, 0.01))
        found.append(
            Block(
                engine=engine,
                block=block,
                band=band,
                digest=DIGESTS[arm],
                swaps=1,
                busy_seconds=20.0,
                tokens=tokens,
                verify_steps=round(tokens / length),
            )
        )
    return found


def requests(
    pairs: int,
    *,
    each: int = 5,
    slower: float = 0.0,
    failing: float = 0.0,
    engine: str = "engine-0",
    seed: int = 0,
) -> list[Request]:
    """Return `each` requests per block; those of the trial arm are `slower` and fail more often."""
    draw = random.Random(f"{seed}/{engine}")
    found = []
    for block in range(2 * pairs):
        arm = PLAN.arm(engine, block)
        is_trial = arm is Arm.TRIAL
        for number in range(each):
            found.append(
                Request(
                    request=f"{engine}-{block}-{number}",
                    engine=engine,
                    started=block * PLAN.block_seconds + draw.uniform(6, 29),
                    digests=(DIGESTS[arm],),
                    failed=is_trial and draw.random() < failing,
                    ttft_seconds=draw.uniform(0.1, 0.3),
                    tpot_seconds=draw.uniform(0.01, 0.02) * (1 + slower * is_trial),
                    preemptions=0,
                )
            )
    return found
