"""The part of a SpeculatorFleet that says which model is served and where its files are."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.functional_validators import model_validator

from specfleet_common.api.references import DataKey, ObjectName
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import rule, rules
from specfleet_common.api.values import Text

AbsolutePath = Annotated[str, StringConstraints(max_length=1024, pattern=r"^/[^:]*$")]
RelativePath = Annotated[str, StringConstraints(max_length=1024, pattern=r"^[^/:][^:]*$")]

SOURCE_NEEDED: Final = (
    "a cluster needs a source, set persistentVolumeClaim, hostPath or huggingFace"
)

_PATH_WITHIN = "path is a directory of the volume, expected a path without '..'"
_MODEL_WITHIN = "model is a directory of the source, expected a relative path without '..'"
_ONE_SOURCE = "set exactly one of persistentVolumeClaim, hostPath and huggingFace"
_HUB_NAME = r"[A-Za-z0-9][-A-Za-z0-9_.]*(/[A-Za-z0-9][-A-Za-z0-9_.]*)?"
_MODEL_ON_HUB = "model is a repository of the hub, expected owner/name"


class ClaimSource(Resource):
    """Model files on a volume of the cluster."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.path) || !('..' in self.path.split('/'))",
                _PATH_WITHIN,
                field=".path",
            )
        )
    )

    claim_name: ObjectName = Field(
        description="Name of the PersistentVolumeClaim, in the namespace of the fleet. Engines on "
        "several nodes need one that can be mounted read-only by many."
    )
    path: RelativePath | None = Field(
        default=None,
        description="Directory of the volume that engines see; all of it when absent.",
    )

    @model_validator(mode="after")
    def _stays_within(self) -> Self:
        if self.path is not None and ".." in self.path.split("/"):
            raise ValueError(_PATH_WITHIN)
        return self


class HostPathSource(Resource):
    """Model files on the nodes themselves, at the same place on each."""

    path: AbsolutePath = Field(description="Directory of every node that may run an engine.")


class TokenReference(Resource):
    """A token in a Secret beside the fleet."""

    name: ObjectName = Field(description="Name of the Secret, in the namespace of the fleet.")
    key: DataKey = Field(default="token", description="Key of the Secret that has the token.")


class HuggingFaceSource(Resource):
    """Model files that every engine's pod downloads before the engine starts."""

    revision: Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9a-f]{40}$")] = Field(
        description="Commit of the repository, in full: a branch could change between the starts "
        "of two engines, and drafters of one target are never applied to another."
    )
    token_secret_ref: TokenReference | None = Field(
        default=None,
        description="Secret with the token for a private or gated repository. Only the container "
        "that downloads sees it.",
    )


class Source(Resource):
    """Where the directory is that has the model: exactly one of the fields."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "[has(self.persistentVolumeClaim), has(self.hostPath), has(self.huggingFace)]"
                ".filter(given, given).size() == 1",
                _ONE_SOURCE,
            )
        )
    )

    persistent_volume_claim: ClaimSource | None = Field(
        default=None, description="A volume of the cluster."
    )
    host_path: HostPathSource | None = Field(
        default=None,
        description="A directory of the nodes; of this machine in a local run. Namespaces that "
        "enforce the Pod Security levels baseline or restricted refuse it.",
    )

    hugging_face: HuggingFaceSource | None = Field(
        default=None,
        description="A repository of the Hugging Face hub, which target.model names. It is "
        "downloaded into engine.cacheVolume, once for every engine, or without one into each new "
        "pod. In a cluster.",
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = (self.persistent_volume_claim, self.host_path, self.hugging_face)
        if sum(one is not None for one in given) != 1:
            raise ValueError(_ONE_SOURCE)
        return self


class Target(Resource):
    """The model that is served."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("has(self.source)", SOURCE_NEEDED, field=".source"),
            rule(
                "!has(self.source) || "
                "!(self.model.startsWith('/') || '..' in self.model.split('/'))",
                _MODEL_WITHIN,
                field=".model",
            ),
            rule(
                "!has(self.source) || !has(self.source.huggingFace) || "
                f"self.model.matches('^{_HUB_NAME}$')",
                _MODEL_ON_HUB,
                field=".model",
            ),
        )
    )

    model: Text = Field(
        description="Directory with config.json, tokenizer and safetensors files of the model; "
        "relative to the source, or without one to the manifest. With source.huggingFace, the "
        "repository."
    )
    source: Source | None = Field(
        default=None,
        description="Where the directory of the model is. Needed in a cluster; a local run finds "
        "the model beside the manifest when absent.",
    )
    served_model_name: Text | None = Field(
        default=None, description="Model name in the API; the fleet's name when absent."
    )
    max_model_len: Annotated[int, Field(ge=16, le=1 << 24)] | None = Field(
        default=None, description="Longest prompt plus output in tokens; the model's when absent."
    )
    dtype: Literal["float32", "bfloat16"] | None = Field(
        default=None, description="Type of the weights while serving; the model's when absent."
    )

    @model_validator(mode="after")
    def _is_within_its_source(self) -> Self:
        model = PurePosixPath(self.model)
        if self.source is not None and (model.is_absolute() or ".." in model.parts):
            raise ValueError(_MODEL_WITHIN)
        is_on_hub = self.source is not None and self.source.hugging_face is not None
        if is_on_hub and not re.fullmatch(_HUB_NAME, self.model):
            raise ValueError(_MODEL_ON_HUB)
        return self
