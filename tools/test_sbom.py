"""The bill of materials says what an image's lock installs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.sbom import ROOT, Package, bill, packages

A, B = "a" * 64, "b" * 64


def test_a_package_has_its_version_and_its_hashes() -> None:
    lock = f"# Made by a tool.\nGrpc_IO==1.2 \\\n    --hash=sha256:{A} \\\n    --hash=sha256:{B}\n"

    assert list(packages(lock)) == [Package("grpc-io", "1.2", (A, B))]


def test_of_versions_for_several_pythons_the_images_own_is_taken() -> None:
    lock = (
        f"numpy==2.4 ; python_full_version < '3.12' --hash=sha256:{A}\n"
        f"numpy==2.5 ; python_full_version >= '3.12' --hash=sha256:{B}\n"
    )

    assert [package.version for package in packages(lock)] == ["2.4"]


@pytest.mark.parametrize("line", ["numpy", f"numpy>=2 --hash=sha256:{A}", "numpy==2"])
def test_what_is_not_pinned_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"numpy.*: is not pinned"):
        list(packages(line))


def test_the_same_lock_gives_the_same_bill() -> None:
    contents = [Package("numpy", "2", (A,))]

    assert bill("image", "1", contents) == bill("image", "1", contents)
    assert bill("image", "1", contents) != bill("image", "2", contents)


@pytest.mark.parametrize(
    "lock", sorted(ROOT.glob("images/*/requirements.txt")), ids=lambda path: path.parent.name
)
def test_every_image_has_a_bill(lock: Path) -> None:
    found = bill(lock.parent.name, "1", packages(lock.read_text()))

    urls = [component["purl"] for component in found["components"]]
    assert urls
    assert len(set(urls)) == len(urls)
    assert json.loads(json.dumps(found)) == found
