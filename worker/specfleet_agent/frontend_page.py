"""What the engine's API server says on its page about requests that have ended. Reads no files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from specfleet_agent.engine_page import PageError, Seconds
from specfleet_common.fields import Count
from specfleet_common.mistakes import summary


@dataclass(frozen=True, slots=True)
class Finished:
    """How one request fared; times are on the machine's monotonic clock."""

    request: Annotated[str, Field(max_length=200)]
    """Empty when the API server does not know it."""
    started: Seconds
    ended: Seconds
    failed: bool
    ttft_seconds: Seconds
    tpot_seconds: Seconds
    preemptions: Count


@dataclass(frozen=True, slots=True)
class FrontendPage:
    """The newest requests that have ended since this API server started."""

    requests: tuple[Finished, ...]


_PAGE = TypeAdapter(FrontendPage)


def decode(payload: Mapping[str, object]) -> FrontendPage:
    """Return the page; PageError when it is not one, fields of a newer engine are left alone."""
    try:
        return _PAGE.validate_python(payload)
    except ValidationError as error:
        raise PageError(
            f"the API server's page is not one of this version: {summary(error)}"
        ) from error
