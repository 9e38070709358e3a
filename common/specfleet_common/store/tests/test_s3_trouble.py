"""Every failure of a server becomes a sentence that says what to do."""

from __future__ import annotations

import pytest
import urllib3
from minio.error import InvalidResponseError, S3Error

from specfleet_common.store.location import S3Location
from specfleet_common.store.s3_trouble import explain

LOCATION = S3Location(endpoint="https://s3.example.com", bucket="fleets", prefix="p")


def answer(code: str, status: int = 400) -> S3Error:
    response = urllib3.HTTPResponse(status=status)
    return S3Error(response, code, "message", "/fleets/p/a", "id", "host", "fleets", "p/a")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        pytest.param(
            answer("NoSpaceLeftOnDevice", 507),
            "https://s3.example.com is full (NoSpaceLeftOnDevice): free space there, or raise the "
            "quota",
            id="full",
        ),
        pytest.param(
            answer("SomethingNew", 507),
            "https://s3.example.com is full (SomethingNew): free space there, or raise the quota",
            id="full-by-status",
        ),
        pytest.param(
            answer("ExpiredToken"),
            "the credentials for https://s3.example.com have expired (ExpiredToken): start again "
            "with new ones",
            id="expired",
        ),
        pytest.param(
            answer("AccessDenied", 403),
            "the credentials may not do this in bucket fleets of https://s3.example.com "
            "(AccessDenied): they need to get and put objects and to list the bucket",
            id="forbidden",
        ),
        pytest.param(
            answer("RequestTimeTooSkewed", 403),
            "https://s3.example.com says that this machine's clock is wrong "
            "(RequestTimeTooSkewed): correct it",
            id="clock",
        ),
        pytest.param(
            answer("NotImplemented", 501),
            "https://s3.example.com lacks what is needed (NotImplemented): use a server that knows "
            "If-None-Match",
            id="conditions-unknown",
        ),
        pytest.param(
            answer("SlowDown", 503),
            "https://s3.example.com answered HTTP 503 (SlowDown): it is asked again later",
            id="busy",
        ),
        pytest.param(
            InvalidResponseError(404, "text/html", "<html>"),
            "https://s3.example.com gave an answer that is not S3's: check the endpoint; it is "
            "asked again later",
            id="web-page",
        ),
        pytest.param(
            OSError(28, "No space left on device"), "[Errno 28] No space left on device", id="spool"
        ),
    ],
)
def test_a_failure_is_explained(error: Exception, sentence: str) -> None:
    assert explain(error, LOCATION) == sentence
