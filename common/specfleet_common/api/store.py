"""The part of a SpeculatorFleet that says where versions and the ledger live."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field
from pydantic.functional_validators import model_validator

from specfleet_common.api.references import SecretKeyReference, SecretReference
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import rule, rules
from specfleet_common.api.values import Text
from specfleet_common.store.location import (
    DEFAULT_REGION,
    Addressing,
    Bucket,
    Endpoint,
    Prefix,
    Region,
)

NO_DIRECTORY: Final = "directory is for a run on one machine, set s3 in a cluster"
S3_NEEDED: Final = "a cluster needs s3, a bucket that outlives its pods"
CREDENTIALS_NEEDED: Final = "a cluster needs the name of the Secret with the credentials"
CA_FILE_IS_LOCAL: Final = "caFile is a file of one machine, add caSecretRef for a cluster"


class Directory(Resource):
    """A store in a directory of this machine."""

    path: Text = Field(description="The directory; relative to the manifest.")


class S3(Resource):
    """A store in a bucket of an S3-compatible server that honours If-None-Match."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.credentialsSecretRef)", CREDENTIALS_NEEDED, field=".credentialsSecretRef"
            ),
            rule("!has(self.caFile) || has(self.caSecretRef)", CA_FILE_IS_LOCAL, field=".caFile"),
        )
    )

    endpoint: Endpoint = Field(
        description="Scheme, host and port of the server, such as https://s3.example.com:9000."
    )
    bucket: Bucket = Field(description="The bucket, which has to exist.")
    # Namespace and name of the fleet still fit into a location's prefix behind it.
    prefix: Annotated[Prefix, Field(max_length=400)] | None = Field(
        default=None,
        description="What the keys of all fleets begin with; namespace and name of the fleet "
        "follow.",
    )
    region: Region = Field(default=DEFAULT_REGION, description="Region of the bucket.")
    addressing: Addressing = Field(
        default=Addressing.PATH,
        description="Where requests name the bucket. Path: in the path. Virtual: as the first "
        "part of the host.",
    )
    credentials_secret_ref: SecretReference | None = Field(
        default=None,
        description="Secret with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for temporary "
        "credentials, AWS_SESSION_TOKEN. A run on this machine takes them from its environment.",
    )
    ca_secret_ref: SecretKeyReference | None = Field(
        default=None,
        description="Secret with the certificates to trust, as PEM, in a cluster; those of the "
        "aggregator's image when absent.",
    )
    ca_file: Text | None = Field(
        default=None,
        description="File with certificates to trust, as PEM, on this machine; relative to the "
        "manifest. The machine's own when absent.",
    )


class Store(Resource):
    """Where versions and the ledger live: exactly one of the fields."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("!has(self.directory)", NO_DIRECTORY, field=".directory"),
            rule("has(self.s3)", S3_NEEDED, field=".s3"),
        )
    )

    directory: Directory | None = Field(default=None, description="A directory of this machine.")
    s3: S3 | None = Field(default=None, description="A bucket of an S3-compatible server.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [name for name in ("directory", "s3") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"has {' and '.join(given) or 'neither'}, expected directory or s3")
        return self
