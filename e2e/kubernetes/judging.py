"""A fleet in the cluster that learns all the time, and judges one candidate for each story."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from e2e.cluster.programs import ROOT
from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.watching import Watch
from e2e.kubernetes.fleet import AGGREGATOR, Fleet
from e2e.kubernetes.manifests import merged
from e2e.kubernetes.waiting import until
from e2e.promoting.fleet import NO_NEW_VERSIONS, judging
from e2e.promoting.simulated import BETTER
from e2e.simulator.running import set_behaviour
from specfleet_cli.traffic.prompts import read_documents
from specfleet_common.api.promotion import Decision, Phase

HINDI: Final = read_documents(ROOT / "examples" / "text" / "hi.jsonl")
LOAD: Final = Load(clients=3, max_tokens=48, distinct_prompts=400)

_AS_IT_IS = {"acceptance": BETTER, "drafter_seconds": {}, "mismatch": False}
_SECONDS = 120.0

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judging:
    """The fleet, with simulated engines. Between stories it runs what is stable."""

    fleet: Fleet
    patience_seconds: float = 420.0

    def configure(
        self, *, learns: bool = True, holdout_percent: int = 60, **promotion: Any
    ) -> None:
        """Have the fleet learn and judge under these settings, and wait until it goes by them."""
        spec = specification(promotion, learns=learns, holdout_percent=holdout_percent)
        self.fleet.apply(spec)
        self.fleet.wait_until_ready()

    @contextmanager
    def story(self, *, learns: bool = True, **promotion: Any) -> Iterator[None]:
        """Judge under these settings for the time of a `with` block, and then no more."""
        self.configure(learns=learns, **promotion)
        try:
            yield
        finally:
            self.behave()
            self.configure(mode="Paused")
            for one in self.promotions().values():
                if phase(one) != Phase.DONE:
                    self.decide(one, Decision.ABORT)
                    self.ended(one)

    @contextmanager
    def traffic(self, *, load: Load = LOAD) -> Iterator[None]:
        """Send requests to every engine; in the end, none may have failed or answered otherwise.

        Each has clients of its own: through the Service, one may get none of the connections.
        """
        with ExitStack() as stack:
            watches = [
                stack.enter_context(running_traffic(url, load, HINDI)) for url in self.engines()
            ]
            yield
            assert_nobody_noticed(*watches)

    def engines(self) -> list[str]:
        """Return the addresses of the engines."""
        return [f"http://{pod['status']['podIP']}:8000" for pod in self.fleet.pods()]

    def behave(self, **behaviour: Any) -> None:
        """Have every engine behave in this way, and otherwise as it does by itself."""
        for url in self.engines():
            set_behaviour(url, {**_AS_IT_IS, **behaviour})

    def restart_aggregator(self) -> None:
        """Have another aggregator read the store."""
        (old,) = self.fleet.pods(AGGREGATOR)
        self.fleet.kubectl("delete", "pod", old["metadata"]["name"], "--wait=false")
        until(
            lambda: self.fleet.pods(AGGREGATOR),
            lambda pods: [pod["metadata"]["uid"] for pod in pods] != [old["metadata"]["uid"]],
            what="another aggregator",
            seconds=_SECONDS,
        )

    def promotions(self) -> dict[str, Object]:
        """Return the fleet's promotions by name."""
        found = self.fleet.client.get("-n", self.fleet.namespace, "dpromo")["items"]
        return {one["metadata"]["name"]: one for one in found}

    def first(self, fits: Callable[[Object], bool], what: str) -> Object:
        """Wait for a promotion."""
        found = until(
            lambda: [one for one in self.promotions().values() if fits(one)],
            what=what,
            seconds=self.patience_seconds,
        )
        return found[0]

    def candidate(self, *phases: str) -> Object:
        """Wait for a candidate that is in one of some phases, in any but the last if none is named.

        Another one may follow it when it has ended.
        """
        wanted = phases or tuple(one for one in Phase if one != Phase.DONE)
        return self.first(lambda one: phase(one) in wanted, f"a candidate in {wanted}")

    def until(self, promotion: Object, *phases: str) -> Object:
        """Wait until a promotion is in one of some phases."""
        name = promotion["metadata"]["name"]
        return self.first(
            lambda one: one["metadata"]["name"] == name and phase(one) in phases,
            f"{name} in {phases}",
        )

    def ended(self, promotion: Object) -> Object:
        """Wait until a promotion is over."""
        return self.until(promotion, Phase.DONE)

    def decide(self, promotion: Object, decision: Decision) -> None:
        """Decide as a user does."""
        patch = json.dumps({"spec": {"decision": decision}})
        name = promotion["metadata"]["name"]
        self.fleet.kubectl("patch", "dpromo", name, "--type=merge", "--patch", patch)


def specification(
    promotion: Mapping[str, Any], *, learns: bool, holdout_percent: int
) -> dict[str, Any]:
    """Return the fleet's spec: its drafters are better than stock, and judged within a minute."""
    spec = judging(2)
    # What becomes stable is compared with stock in every pair of blocks.
    spec["promotion"]["canary"] |= {"blockSeconds": 2, "recheckEvery": 1}
    spec["promotion"] = merged(spec["promotion"], promotion)
    acceptance = {"name": "SIMULATOR_ACCEPTANCE", "value": json.dumps(BETTER)}
    spec["engine"] = {"env": [acceptance]}
    spec["trainer"] = {
        "capture": {"followRequests": 16, "holdoutPercent": holdout_percent},
        "publishEverySteps": 0,
    }
    spec["aggregation"] = {"localSteps": 20 if learns else NO_NEW_VERSIONS}
    return spec


def assert_nobody_noticed(*watches: Watch) -> None:
    """Fail when a request failed, or when an answer was another one than before."""
    for watch in watches:
        for window in watch.windows():
            assert_no_failures(window, minimum=50)
            assert_same_answers(window)


def phase(promotion: Object) -> str:
    """Return how far a promotion is."""
    return str(promotion.get("status", {}).get("phase", ""))


def outcome(promotion: Object) -> str:
    """Return how a promotion ended, empty while it is open."""
    return str(promotion.get("status", {}).get("outcome", ""))
