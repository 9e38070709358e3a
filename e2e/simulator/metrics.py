"""vLLM's metrics, by its names, labels and buckets; a test holds them to the real engine's."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from e2e.simulator.requests import Request

TTFT_BUCKETS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
TOKEN_BUCKETS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0),
)
LATENCY_BUCKETS = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0),
    *(240.0, 480.0, 960.0, 1920.0, 7680.0),
)
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")
_LABELS = ("model_name", "engine")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a step found out about one draft."""

    drafted: int
    accepted: int


class Metrics:
    """The metrics of one engine."""

    def __init__(self, served_model_name: str, *, num_speculative_tokens: int) -> None:
        self.registry = CollectorRegistry()
        self._own = {"model_name": served_model_name, "engine": "0"}
        self._running = self._gauge("vllm:num_requests_running", "Requests in the batch.")
        self._waiting = self._gauge("vllm:num_requests_waiting", "Requests waiting.")
        self._prompt_tokens = self._counter("vllm:prompt_tokens", "Prefill tokens.")
        self._generation_tokens = self._counter("vllm:generation_tokens", "Generated tokens.")
        self._counter("vllm:num_preemptions", "Preemptions; the simulator has none.")
        success = Counter(
            "vllm:request_success",
            "Finished requests.",
            (*_LABELS, "finished_reason"),
            registry=self.registry,
        )
        self._success = {
            reason: success.labels(**self._own, finished_reason=reason) for reason in FINISH_REASONS
        }
        rejections = Counter(
            "vllm:admission_rejections",
            "Requests refused because there were too many.",
            ("model_name", "reason"),
            registry=self.registry,
        )
        self._rejected = rejections.labels(served_model_name, "max_num_queued_reqs")
        self._ttft = self._histogram(
            "vllm:time_to_first_token_seconds", "Arrival to first token.", TTFT_BUCKETS
        )
        self._between = self._histogram(
            "vllm:inter_token_latency_seconds", "From one output to the next.", TOKEN_BUCKETS
        )
        self._tpot = self._histogram(
            "vllm:request_time_per_output_token_seconds",
            "Mean time per token after the first, per request.",
            TOKEN_BUCKETS,
        )
        self._latency = self._histogram(
            "vllm:e2e_request_latency_seconds", "Arrival to last token.", LATENCY_BUCKETS
        )
        if num_speculative_tokens:
            self._drafts = self._counter("vllm:spec_decode_num_drafts", "Drafts.")
            self._draft_tokens = self._counter("vllm:spec_decode_num_draft_tokens", "Drafted.")
            self._accepted = self._counter("vllm:spec_decode_num_accepted_tokens", "Accepted.")
            per_position = Counter(
                "vllm:spec_decode_num_accepted_tokens_per_pos",
                "Accepted by position in the draft.",
                (*_LABELS, "position"),
                registry=self.registry,
            )
            self._accepted_at = [
                per_position.labels(**self._own, position=str(position))
                for position in range(num_speculative_tokens)
            ]

    def queues(self, *, running: int, waiting: int) -> None:
        """Say how many requests are in the batch and how many wait."""
        self._running.set(running)
        self._waiting.set(waiting)

    def verified(self, verdict: Verdict) -> None:
        """Count a verified draft."""
        self._drafts.inc()
        self._draft_tokens.inc(verdict.drafted)
        self._accepted.inc(verdict.accepted)
        for counter in self._accepted_at[: verdict.accepted]:
            counter.inc()

    def put_out(self, request: Request, num_tokens: int, *, now: float) -> None:
        """Count an output and how long it took."""
        self._generation_tokens.inc(num_tokens)
        if request.emitted == num_tokens:
            self._prompt_tokens.inc(len(request.prompt))
            self._ttft.observe(now - request.arrived)
        else:
            self._between.observe(now - request.newest_token)

    def finished(self, request: Request, *, now: float) -> None:
        """Count a request that ended, for whatever reason it has."""
        assert request.finish_reason is not None
        self._success[request.finish_reason].inc()
        self._latency.observe(now - request.arrived)
        if request.emitted > 1:
            self._tpot.observe((now - request.first_token) / (request.emitted - 1))

    def rejected(self) -> None:
        """Count a request that was one too many."""
        self._rejected.inc()

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, _LABELS, registry=self.registry).labels(**self._own)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, _LABELS, registry=self.registry).labels(**self._own)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        metric = Histogram(name, text, _LABELS, buckets=buckets, registry=self.registry)
        return metric.labels(**self._own)
