"""The settings of the process, read once when it starts; what may change later is in a file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field
from pydantic.functional_validators import model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from specfleet_common.store.location import DirectoryLocation, Location, S3Location
from specfleet_common.wire.access import stays_here

Port = Annotated[int, Field(ge=0, le=65535)]

_PREFIX = "SPECFLEET_AGGREGATOR_"
_CLUSTER_TOKENS = ("jwks_file", "token_issuer", "token_audience", "worker_subject")


class Settings(BaseSettings):
    """Set a field with SPECFLEET_AGGREGATOR_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True)

    fleet: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    """The name of the fleet: a store of another one is refused."""
    settings_file: Path
    """How the fleet learns, as `LearningSettings`; read again when it changes."""
    store_directory: Path | None = None
    """A directory as the store, on one machine or on a volume."""
    store_s3: S3Location | None = None
    """A JSON object; exactly one of the two stores is given."""
    spool_directory: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Deltas of the open round and entries of an S3 store that are in use lie here, as files
    without a name that vanish with the process."""

    listen: str = "127.0.0.1:0"
    """Host and port of the gRPC service; port 0 takes any."""
    port_file: Path | None = None
    """Where to write the port that was bound."""
    metrics_port: Port | None = None
    """Serve Prometheus metrics on this port of the same host; 0 takes any."""

    tls_certificate_file: Path | None = None
    """The certificate that agents see, as PEM; unset, no encryption."""
    tls_key_file: Path | None = None
    """Both or none, as PEM; read again when they change."""

    token_file: Path | None = None
    """A secret that every caller shows; read again when it changes."""
    jwks_file: Path | None = None
    """Public keys of those who sign service account tokens; read again when it changes."""
    token_issuer: str = ""
    """Who has to have signed tokens: the cluster's issuer."""
    token_audience: str = ""
    """Whom tokens have to be for: `specfleet/<namespace>/<fleet>`."""
    worker_subject: str = ""
    """Whose tokens agents show, each bound to the pod whose UID is the worker's id."""
    watcher_subjects: tuple[str, ...] = ()
    """Whose tokens allow to watch, as a JSON list."""

    @model_validator(mode="after")
    def _has_one_store(self) -> Self:
        if (self.store_directory is None) == (self.store_s3 is None):
            given = "neither" if self.store_s3 is None else "both"
            raise ValueError(
                f"store_directory, store_s3: {given} given, expected {_PREFIX}"
                f"STORE_DIRECTORY or {_PREFIX}STORE_S3"
            )
        return self

    @model_validator(mode="after")
    def _has_a_certificate_with_its_key(self) -> Self:
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            raise ValueError(
                f"tls_certificate_file, tls_key_file: one given, expected {_PREFIX}"
                f"TLS_CERTIFICATE_FILE and {_PREFIX}TLS_KEY_FILE, or neither"
            )
        return self

    @model_validator(mode="after")
    def _knows_callers_in_one_way(self) -> Self:
        given = [name for name in _CLUSTER_TOKENS if getattr(self, name)]
        if given and self.token_file is not None:
            raise ValueError(f"token_file, {', '.join(given)}: given, expected one way only")
        missing = [name for name in _CLUSTER_TOKENS if name not in given]
        if missing and (given or self.watcher_subjects):
            raise ValueError(
                f"{', '.join(missing)}: missing, expected all of "
                f"{', '.join(_PREFIX + name.upper() for name in _CLUSTER_TOKENS)}"
            )
        return self

    @model_validator(mode="after")
    def _keeps_tokens_secret(self) -> Self:
        shown = self.token_file is not None or self.jwks_file is not None
        if shown and self.tls_certificate_file is None and not stays_here(self.listen):
            raise ValueError(
                f"listen: is {self.listen}, where tokens would come unencrypted, expected "
                f"{_PREFIX}TLS_CERTIFICATE_FILE or an address of this machine only"
            )
        return self

    @property
    def store(self) -> Location:
        """Return where the store is."""
        if self.store_directory is not None:
            return DirectoryLocation(path=self.store_directory)
        assert self.store_s3 is not None
        return self.store_s3
