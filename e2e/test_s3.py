"""A fleet whose store is a bucket learns like any other, also when its aggregator is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e import smoke
from e2e.fleets import prepare, running, write_manifest
from specfleet_common.store.testing import BUCKET, ENVIRONMENT, s3_server


@pytest.mark.e2e
@pytest.mark.long
def test_a_fleet_learns_with_its_versions_in_a_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = smoke.parse(["--out", str(tmp_path / "fleet"), "--kill", "aggregator"])
    for name, text in ENVIRONMENT.items():
        monkeypatch.setenv(name, text)
    prepare(options.out)

    with s3_server(tmp_path / "s3") as server:
        s3 = {"endpoint": server.endpoint, "bucket": BUCKET, "prefix": "e2e"}
        manifest = write_manifest(
            smoke.MANIFEST, options.out, change=lambda spec: spec.update(store={"s3": s3})
        )
        with running(manifest, options.out) as process:
            story = asyncio.run(smoke.tell(process, options))
            done = smoke.check(story, options)
        stored = sorted(path.name for path in (server.root / "e2e/default/tiny").iterdir())

    assert [check for check in done if not check.passed] == []
    assert "owner.json" in stored
    logs = "".join(path.read_text() for path in (options.out / "logs").glob("*.log"))
    for secret in (ENVIRONMENT["AWS_SECRET_ACCESS_KEY"], "X-Amz-Signature"):
        assert secret not in logs + (options.out / "run.log").read_text()
