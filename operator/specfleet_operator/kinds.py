"""Where the API server keeps each kind of object that the operator touches. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from specfleet_operator import naming


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A kind of namespaced object."""

    api_version: str
    name: str
    plural: str

    @property
    def group(self) -> str:
        """Return the API group, empty for the core's."""
        return self.api_version.rpartition("/")[0]


FLEET = Kind(naming.API_VERSION, naming.KIND, "speculatorfleets")
PROMOTION = Kind(naming.API_VERSION, naming.PROMOTION_KIND, "drafterpromotions")
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
EVENT = Kind("events.k8s.io/v1", "Event", "events")
POD = Kind("v1", "Pod", "pods")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
SECRET = Kind("v1", "Secret", "secrets")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")

CHILDREN: tuple[Kind, ...] = (
    Kind("apps/v1", "StatefulSet", "statefulsets"),
    Kind("v1", "Service", "services"),
    POD,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    Kind("apps/v1", "ControllerRevision", "controllerrevisions"),
    PROMOTION,
)
"""What belongs to a fleet and exists in every cluster."""

OPTIONAL_CHILDREN: tuple[Kind, ...] = (
    Kind("monitoring.coreos.com/v1", "PodMonitor", "podmonitors"),
)
"""What belongs to a fleet where another project's definitions are installed."""

_ALL = (FLEET, LEASE, EVENT, *CHILDREN, *OPTIONAL_CHILDREN)
_BY_NAME = {(kind.api_version, kind.name): kind for kind in _ALL}


def kind_of(api_version: str, name: str) -> Kind:
    """Return the kind; ValueError for one that the operator has no business with."""
    try:
        return _BY_NAME[api_version, name]
    except KeyError:
        known = ", ".join(sorted(kind.name for kind in _ALL))
        message = f"{api_version} {name}: is unknown to the operator, expected one of {known}"
        raise ValueError(message) from None


def group_path(api_version: str) -> str:
    """Return the path under which a version of a group is served."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def collection_path(kind: Kind, namespace: str | None) -> str:
    """Return the path of all objects of a kind in a namespace, or in all when it is None."""
    where = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
    return f"{group_path(kind.api_version)}{where}/{kind.plural}"


def object_path(kind: Kind, namespace: str, name: str, *, subresource: str = "") -> str:
    """Return the path of one object, or of one of its subresources."""
    path = f"{collection_path(kind, namespace)}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path
