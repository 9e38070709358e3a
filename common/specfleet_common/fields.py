"""Fields that messages, pages and manifests have in common, with their bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

LARGEST_COUNT = (1 << 63) - 1
Count = Annotated[int, Field(ge=0, lt=LARGEST_COUNT + 1)]
"""What a message on the wire can carry on."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
