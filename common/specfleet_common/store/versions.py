"""Versions of a lineage in a store: publish the next one, find the newest whole one, read it.

    <lineage>/versions/<number>/manifest.json
    <lineage>/versions/<number>/drafter-<digest>.safetensors   in serving dtype
    <lineage>/versions/<number>/outer-<digest>.safetensors     float32, absent for stock

Files carry the start of their digest in the name: two writers of one number cannot mix their files,
and a number whose writer died before the manifest is free again.
"""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_common.diloco.outer import OuterState, initial_state
from specfleet_common.lineage import Lineage, Shapes
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.manifest import (
    MANIFEST_FILE,
    Content,
    Manifest,
    ManifestError,
    decode_manifest,
    encode_manifest,
)
from specfleet_common.tensors import (
    TensorError,
    TensorMap,
    content_digest,
    decode,
    encode_parts,
    encoded_digest,
    encoded_size_bytes,
    shapes_of,
    view,
)

_THETA = "parameters/"
_V = "velocity/"


class DamagedVersion(StoreError):
    """A version's files are not what its manifest says."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a lineage has: the newest whole version, and the highest number that is taken.

    They differ when newer versions are damaged; `damage` says how, one sentence for each.
    """

    newest: Manifest | None
    taken: int | None
    damage: tuple[str, ...]


def lineages(store: Store) -> list[str]:
    """Return the ids of all lineages that have versions."""
    return [name for name in store.list("") if store.list(f"{name}/versions")]


def find_lineage(store: Store, lineage_id: str) -> Lineage | None:
    """Return what a lineage is, from any of its manifests that can be read."""
    for number in sorted(_numbers(store, lineage_id)):
        try:
            manifest = read_manifest(store, lineage_id, number)
        except DamagedVersion:
            continue
        if manifest is not None:
            return manifest.lineage
    return None


def find(store: Store, lineage_id: str) -> Found:
    """Look for the newest version whose files are all there and whole."""
    numbers = sorted(_numbers(store, lineage_id), reverse=True)
    damage: list[str] = []
    taken: int | None = None
    for number in numbers:
        data = store.read(_manifest_path(lineage_id, number))
        if data is None:
            continue
        taken = number if taken is None else taken
        try:
            manifest = _checked(decode_manifest(data), lineage_id, number)
            for content in manifest.contents:
                read_content(store, manifest, content)
        except (ManifestError, DamagedVersion) as error:
            damage.append(f"version {number} of lineage {lineage_id}: {error}")
            continue
        return Found(manifest, taken, tuple(damage))
    return Found(None, taken, tuple(damage))


def published(store: Store, lineage_id: str) -> list[int]:
    """Return the numbers of all versions that exist, damaged or not, in order."""
    return [
        number
        for number in sorted(_numbers(store, lineage_id))
        if store.read(_manifest_path(lineage_id, number)) is not None
    ]


def read_manifest(store: Store, lineage_id: str, number: int) -> Manifest | None:
    """Return one version's manifest, None when there is no such version."""
    data = store.read(_manifest_path(lineage_id, number))
    if data is None:
        return None
    try:
        return _checked(decode_manifest(data), lineage_id, number)
    except ManifestError as error:
        raise DamagedVersion(f"version {number} of lineage {lineage_id}: {error}") from error


def read_content(store: Store, manifest: Manifest, content: Content) -> memoryview:
    """Return the bytes of one of a version's files after checking their digest."""
    data = store.read(_path(manifest.lineage.id, manifest.number, content.file))
    if data is None:
        raise DamagedVersion(f"{content.file} is missing")
    if len(data) != content.size_bytes:
        raise DamagedVersion(f"{content.file} has {len(data)} bytes, expected {content.size_bytes}")
    try:
        digest = content_digest(data)
    except TensorError as error:
        raise DamagedVersion(f"{content.file}: {error}") from error
    if digest != content.digest:
        raise DamagedVersion(f"{content.file} has digest {digest}, expected {content.digest}")
    return data


def read_shapes(store: Store, manifest: Manifest) -> Shapes:
    """Return the shapes of a version that was found whole; only a header is read."""
    data = store.read(_path(manifest.lineage.id, manifest.number, manifest.drafter.file))
    if data is None:
        raise DamagedVersion(f"{manifest.drafter.file} is missing")
    return shapes_of(data)


def read_outer(store: Store, manifest: Manifest) -> OuterState:
    """Return the outer state that a version ended with."""
    drafter = read_content(store, manifest, manifest.drafter)
    if manifest.outer is None:
        return initial_state(decode(drafter))
    data = read_content(store, manifest, manifest.outer)
    shapes = shapes_of(drafter)
    tensors = view(data, shapes=_outer_shapes(shapes))
    return OuterState(
        parameters={name: tensors[_THETA + name] for name in shapes},
        velocity={name: tensors[_V + name] for name in shapes},
    )


def write_drafter(
    store: Store, lineage_id: str, number: int, tensors: TensorMap, *, dtype: str
) -> Content:
    """Write the drafter of a version that has no manifest yet."""
    return _write(store, lineage_id, number, "drafter", tensors, dtype)


def write_outer(store: Store, lineage_id: str, number: int, state: OuterState) -> Content:
    """Write the outer state of a version that has no manifest yet."""
    tensors = {_THETA + name: array for name, array in state.parameters.items()}
    tensors |= {_V + name: array for name, array in state.velocity.items()}
    return _write(store, lineage_id, number, "outer", tensors, "float32")


def publish(store: Store, manifest: Manifest) -> bool:
    """Make a version exist; its files must be there. False when its number is taken."""
    path = _manifest_path(manifest.lineage.id, manifest.number)
    return store.create(path, [encode_manifest(manifest)])


def _write(
    store: Store, lineage_id: str, number: int, kind: str, tensors: TensorMap, dtype: str
) -> Content:
    digest = encoded_digest(tensors, dtype)
    file = f"{kind}-{digest[:16]}.safetensors"
    store.create(_path(lineage_id, number, file), encode_parts(tensors, dtype))
    return Content(file, digest, encoded_size_bytes(tensors, dtype))


def _outer_shapes(shapes: Shapes) -> Shapes:
    return {prefix + name: shape for prefix in (_THETA, _V) for name, shape in shapes.items()}


def _checked(manifest: Manifest, lineage_id: str, number: int) -> Manifest:
    if (manifest.lineage.id, manifest.number) != (lineage_id, number):
        raise ManifestError(
            f"says version {manifest.number} of lineage {manifest.lineage.id}, "
            f"expected version {number} of lineage {lineage_id}"
        )
    return manifest


def _numbers(store: Store, lineage_id: str) -> list[int]:
    names = store.list(f"{lineage_id}/versions")
    return [int(name) for name in names if name.isdecimal() and str(int(name)) == name]


def _path(lineage_id: str, number: int, file: str) -> str:
    return f"{lineage_id}/versions/{number}/{file}"


def _manifest_path(lineage_id: str, number: int) -> str:
    return _path(lineage_id, number, MANIFEST_FILE)
