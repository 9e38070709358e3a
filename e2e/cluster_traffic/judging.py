"""What a test asserts about a window, in sentences that say what was seen."""

from __future__ import annotations

from e2e.cluster_traffic.windows import Window


def assert_no_failures(window: Window, *, minimum: int) -> None:
    """Fail when a request failed, and when there were too few to say that none does."""
    seen = f"window {window.name!r} ({window.ended - window.began:.1f} s)"
    assert window.requests >= minimum, (
        f"{seen}: {window.requests} requests, expected at least {minimum}"
    )
    first = "; ".join(
        f"number {one.number} at {one.began:.3f} after {one.seconds:.3f} s"
        f"{f' by {one.engine}' if one.engine else ''}: {one.failure}"
        for one in window.examples
    )
    assert not window.num_failures, (
        f"{seen}: {window.num_failures} of {window.requests} requests failed, expected none: "
        f"{dict(window.failures)}; first {first}"
    )


def assert_same_answers(window: Window) -> None:
    """Fail when a prompt was answered otherwise than before, by another engine or drafter."""
    assert not window.different_prompts, (
        f"window {window.name!r}: prompts {list(window.different_prompts)} have several answers, "
        "expected one each: engines answer alike whatever drafts for them"
    )
