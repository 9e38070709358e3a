"""How every part of a resource is read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Resource(BaseModel):
    """Read strictly, and unchangeable afterwards; camelCase in manifests."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, strict=True, validate_default=True
    )
