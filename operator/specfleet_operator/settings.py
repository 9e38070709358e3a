"""The operator's settings, read once from the environment."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
Image = Annotated[str, Field(pattern=r"^\S+$")]
Port = Annotated[int, Field(ge=0, le=65535)]


class Settings(BaseSettings):
    """Set a field with SPECFLEET_OPERATOR_<FIELD>; the Helm chart uses the same names."""

    model_config = SettingsConfigDict(env_prefix="SPECFLEET_OPERATOR_", frozen=True)

    namespaces: Annotated[tuple[Name, ...], NoDecode] = ()
    """Namespaces whose fleets are served, separated by commas; empty for all of the cluster."""

    own_namespace: Name
    """Where the operator itself runs."""
    service_account: Name
    """Under this account the operator runs and shows itself to aggregators."""
    pod_name: Name
    """Tells this operator from its other replicas; a restarted one is another one."""
    cluster_domain: Name = "cluster.local"
    """The domain of the cluster's Services."""

    agent_image: Image
    """Whole reference of the image beside every engine; the plugin comes from it, too."""
    aggregator_image: Image
    """Whole reference of the image of every fleet's aggregator."""
    default_engine_image: Annotated[str, Field(pattern=r"^\S*$")] = ""
    """For fleets that name no engine image; empty when every fleet has to."""

    pod_monitor_labels: dict[str, str] = {}
    """Labels of fleets' PodMonitors besides their own, by which a Prometheus finds them; JSON."""

    lease_name: Name = "specfleet-operator"
    """Operators of one name elect a leader among them."""
    lease_seconds: Annotated[float, Field(ge=3, le=600)] = 15.0
    """A leader that is gone is replaced after this long."""
    resync_seconds: PositiveFloat = 30.0
    """Every fleet is looked at this often although nothing was seen to change."""

    host: str = "0.0.0.0"
    """The address that health and metrics pages listen on."""
    health_port: Port = 8080
    """Of `/healthz` and `/readyz`; 0 takes any."""
    metrics_port: Port = 9090
    """Of `/metrics`; 0 takes any."""

    log_format: Literal["json", "text"] = "json"
    """Text is for people."""

    @field_validator("namespaces", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(name for part in value.split(",") if (name := part.strip()))

    @model_validator(mode="after")
    def _names_namespaces_once(self) -> Self:
        if len(set(self.namespaces)) < len(self.namespaces):
            raise ValueError(f"namespaces: {self.namespaces} has a name twice, expected each once")
        return self
