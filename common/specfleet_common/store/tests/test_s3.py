"""What only a store in a bucket has: a server far away, credentials, certificates."""

from __future__ import annotations

import socket
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.credentials import Credentials
from specfleet_common.store.location import Addressing, S3Location
from specfleet_common.store.opening import open_store
from specfleet_common.store.owner import OverwritingStore, claim
from specfleet_common.store.s3 import S3Store
from specfleet_common.store.testing import ENVIRONMENT, Server, s3_server
from specfleet_common.store.tests.certificates import Certificates, certificates
from specfleet_common.store.tests.proxy import Proxy, proxy

SECRET = ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]
CREDENTIALS = Credentials(ENVIRONMENT["AWS_ACCESS_KEY_ID"], SECRET)


def same() -> Credentials:
    return CREDENTIALS


def opened(location: S3Location, **changes: str) -> Store:
    return open_store(location, {**ENVIRONMENT, **changes})


@pytest.fixture
def between(s3: Server) -> Iterator[Proxy]:
    """Return a proxy before the server of the session."""
    with proxy(s3.endpoint) as started:
        yield started


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Certificates]]:
    """Return a server that speaks TLS with a certificate of its own authority."""
    directory = tmp_path_factory.mktemp("secure")
    files = certificates(directory)
    arguments = ("--cert", str(files.server), "--key", str(files.key))
    with s3_server(directory, *arguments, scheme="https") as server:
        yield server, files


def test_a_server_is_trusted_through_the_ca_file(secure: tuple[Server, Certificates]) -> None:
    server, files = secure
    store = opened(server.location("trusted", ca_file=files.authority))

    created = [store.create("a", [b"text"]) for _ in range(2)]

    assert created == [True, False]
    assert bytes(store.read("a") or b"") == b"text"


def test_a_server_whose_ca_is_unknown_is_not_asked(secure: tuple[Server, Certificates]) -> None:
    server, _ = secure

    with pytest.raises(StoreError, match=r"certificate of .* is not trusted .*: name the CA"):
        opened(server.location("untrusted")).read("a")


def test_a_bucket_can_be_part_of_the_host(tmp_path: Path) -> None:
    # The bucket 127 of the host 0.0.1 is at 127.0.0.1, so no name has to be resolved.
    with s3_server(tmp_path, "--virtual-domain", "0.0.1", bucket="127") as server:
        location = S3Location(
            endpoint=server.endpoint.replace("127.0.0.1", "0.0.1"),
            bucket="127",
            prefix="p",
            addressing=Addressing.VIRTUAL,
        )
        store = opened(location)

        created = [store.create("a/b", [b"text"]) for _ in range(2)]

        assert created == [True, False]
        assert store.list("") == ["a"]
        assert bytes(store.read("a/b") or b"") == b"text"


def test_all_names_are_listed_however_many_there_are(s3: Server) -> None:
    folder = s3.root / "many" / "l" / "ledger"
    folder.mkdir(parents=True)
    names = sorted(f"{number}.json" for number in range(1005))
    for name in names:
        (folder / name).touch()

    assert opened(s3.location("many")).list("l/ledger") == names


def test_prefixes_that_begin_alike_are_different_stores(s3: Server) -> None:
    opened(s3.location("alike/tiny-2")).create("a", [b""])

    assert opened(s3.location("alike/tiny")).list("") == []


def read(store: Store) -> object:
    return store.read("a")


def create(store: Store) -> object:
    return store.create("a", [b"text"])


def list_(store: Store) -> object:
    return store.list("")


@pytest.mark.parametrize("ask", [read, create, list_])
@pytest.mark.parametrize(
    ("changes", "environment", "message"),
    [
        pytest.param({"bucket": "absent"}, {}, "has no bucket absent: create it", id="bucket"),
        pytest.param(
            {}, {"AWS_ACCESS_KEY_ID": "somebody"}, r"refuses the credentials .*: check", id="key"
        ),
        pytest.param(
            {},
            {"AWS_SECRET_ACCESS_KEY": "mistyped"},
            r"refuses the credentials \(SignatureDoesNotMatch\): check AWS_ACCESS_KEY_ID",
            id="secret",
        ),
        pytest.param(
            {"region": "eu-west-1"}, {}, r"is not in region eu-west-1 .*: correct", id="region"
        ),
        pytest.param({"bucket": "10.0.0.1"}, {}, "must not be formatted as an IP", id="name"),
        pytest.param(
            {"endpoint": "http://no-such-host.invalid"}, {}, "is not known: check", id="host"
        ),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do_and_without_secrets(
    s3: Server,
    changes: dict[str, str],
    environment: dict[str, str],
    message: str,
    ask: Callable[[Store], object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = opened(s3.location("trouble", **changes), **environment)

    with pytest.raises(StoreError, match=message) as caught:
        ask(store)

    told = "".join(traceback.format_exception(caught.value)) + repr(store) + caplog.text
    for secret in (SECRET, "mistyped", "Signature="):
        assert secret not in told


def test_a_server_that_is_not_there_is_named(s3: Server) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        store = opened(s3.location("gone", endpoint=endpoint))

        for ask in (read, create, list_):
            with pytest.raises(StoreError, match=f"{endpoint} cannot be reached: check") as caught:
                ask(store)
            assert "Signature" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("ask", [read, create, list_])
def test_a_server_that_is_busy_for_a_moment_is_asked_again(
    s3: Server, between: Proxy, ask: Callable[[Store], object]
) -> None:
    pauses: list[float] = []
    location = s3.location(f"busy/{ask.__name__}", endpoint=between.endpoint)
    store = S3Store(location, same, sleep=pauses.append)
    between.unavailable = 2

    answer = ask(store)

    assert answer in (None, True, [])
    assert pauses == [0.25, 0.5]


def test_a_server_that_stays_busy_is_given_up_for_now(s3: Server, between: Proxy) -> None:
    pauses: list[float] = []
    location = s3.location("busy/always", endpoint=between.endpoint)
    store = S3Store(location, same, sleep=pauses.append)
    between.unavailable = 100

    with pytest.raises(StoreError, match="answered HTTP 503: it is asked again later"):
        create(store)

    assert pauses == [0.25, 0.5, 1.0]


def test_an_entry_whose_answer_got_lost_is_known_as_ones_own(s3: Server, between: Proxy) -> None:
    store = opened(s3.location("lost/own", endpoint=between.endpoint))
    between.lost_answers = 1

    assert create(store)
    assert not create(store)


def test_an_entry_of_another_is_not_taken_for_ones_own(s3: Server, between: Proxy) -> None:
    opened(s3.location("lost/other")).create("a", [b"another"])
    store = opened(s3.location("lost/other", endpoint=between.endpoint))
    between.lost_answers = 1

    assert not create(store)


def test_an_entry_that_breaks_off_is_never_returned_in_part(s3: Server, between: Proxy) -> None:
    location = s3.location("broken", endpoint=between.endpoint)
    store = S3Store(location, same, sleep=lambda _: None)
    store.create("a", [bytes(1000)])

    between.broken_bodies = 1
    again = store.read("a")
    between.broken_bodies = 100
    with pytest.raises(StoreError, match=r"cannot read a: the connection to .* broke"):
        store.read("a")

    assert again is not None
    assert bytes(again) == bytes(1000)


def test_a_server_that_ignores_if_none_match_is_refused(s3: Server, between: Proxy) -> None:
    store = opened(s3.location("ignoring", endpoint=between.endpoint))
    between.ignores_conditions = True

    with pytest.raises(OverwritingStore, match="use an S3 server that honours If-None-Match"):
        claim(store, "blue")


def test_memory_does_not_grow_with_an_entry(s3: Server) -> None:
    store, block, blocks = opened(s3.location("large")), bytes(1 << 20), 48
    tracemalloc.start()

    store.create("a", (block for _ in range(blocks)))
    data = store.read("a")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert data is not None
    assert len(data) == blocks * len(block)
    assert peak_bytes < 8 * len(block)


def test_an_entry_that_is_too_large_is_neither_written_nor_read(s3: Server) -> None:
    location = s3.location("limit")
    limited = S3Store(location, same, max_entry_bytes=10)
    opened(location).create("large", [bytes(11)])

    for ask in (lambda: limited.create("a", [bytes(11)]), lambda: limited.read("large")):
        with pytest.raises(StoreError, match="it has more than 10 bytes"):
            ask()

    assert opened(location).read("a") is None
