"""A store in a bucket of an S3-compatible server.

An entry is one object. It is created by a presigned PUT with `If-None-Match: *`: of two writers the
server lets exactly one through, and an object appears whole. Entries lie in unnamed files of this
machine while they are sent or used, so that memory does not grow with their size.
"""

from __future__ import annotations

import ssl
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, TypeVar, cast
from urllib.parse import urlsplit
from xml.etree import ElementTree

import urllib3
from minio import Minio
from minio.credentials.credentials import Credentials as MinioCredentials
from minio.credentials.providers import Provider
from minio.error import MinioException, S3Error, ServerError
from urllib3.exceptions import HTTPError

from specfleet_common.back_off import back_off_seconds
from specfleet_common.files import mapped
from specfleet_common.store.base import StoreError, names_of
from specfleet_common.store.credentials import Credentials
from specfleet_common.store.location import Addressing, S3Location
from specfleet_common.store.s3_trouble import explain, is_passing

MAX_ENTRY_BYTES = 5 << 30
"""What S3 takes in one PUT."""

# The first also limits how long a new connection may take no data.
_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 60.0
_CONNECTIONS = 16
_TRIES = 4
_URL_LIFE = timedelta(hours=1)
_BLOCK_BYTES = 1 << 20
_ASK_FIRST_BYTES = 1 << 20
_NOT_THERE = frozenset({"NoSuchKey"})
_OK, _CONFLICT, _PRECONDITION_FAILED = 200, 409, 412

Answer = TypeVar("Answer")


class S3Store:
    """Entries are objects below the location's prefix; may be used by several threads.

    `credentials` is asked for every request.
    """

    def __init__(
        self,
        location: S3Location,
        credentials: Callable[[], Credentials],
        *,
        spool_directory: Path | None = None,
        max_entry_bytes: int = MAX_ENTRY_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._location = location
        self._spool_directory = spool_directory
        self._max_entry_bytes = max_entry_bytes
        self._sleep = sleep
        self._http = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_SILENCE_SECONDS),
            # Its own retries would log presigned URLs.
            retries=False,
            ssl_context=ssl.create_default_context(cafile=location.ca_file),
            maxsize=_CONNECTIONS,
            blocksize=_BLOCK_BYTES,
        )
        endpoint = urlsplit(location.endpoint)
        self._client = Minio(
            endpoint.netloc,
            credentials=_Provider(credentials),
            secure=endpoint.scheme == "https",
            region=location.region,
            http_client=self._http,
        )
        if location.addressing is Addressing.VIRTUAL:
            self._client.enable_virtual_style_endpoint()  # type: ignore[no-untyped-call]
        else:
            self._client.disable_virtual_style_endpoint()  # type: ignore[no-untyped-call]

    def read(self, path: str) -> memoryview | None:
        """Return the object's bytes, received into an unnamed file and mapped into memory."""
        key = self._key(path)
        with self._failures(f"read {path}"), self._spool() as file:
            found = self._persist(lambda: self._receive(key, file))
            return _written(file) if found else None

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        """Put the object unless there is one."""
        key = self._key(path)
        with self._failures(f"write {path}"), self._spool() as file:
            for part in parts:
                self._add(part, file)
            size_bytes = file.tell()
            # A server may cut off a body that it does not want, which looks like a failure.
            if size_bytes > _ASK_FIRST_BYTES and self._persist(lambda: self._exists(key)):
                return False
            sent = 0

            def send() -> bool:
                nonlocal sent
                sent += 1
                return self._put(key, file, size_bytes)

            # An earlier try whose answer got lost may have created what is there now.
            return self._persist(send) or (sent > 1 and self.read(path) == _written(file))

    def list(self, path: str) -> list[str]:
        """Return the names of objects and common prefixes directly below a path."""
        prefix = f"{self._key(path)}/"
        with self._failures(f"list {path or 'the root'}"):
            found = self._persist(
                lambda: list(self._client.list_objects(self._location.bucket, prefix=prefix))
            )
        names = {str(one.object_name).removeprefix(prefix).rstrip("/") for one in found}
        return sorted(name for name in names if name and not name.startswith("."))

    def _add(self, block: bytes | memoryview, file: BinaryIO) -> None:
        file.write(block)
        if file.tell() > self._max_entry_bytes:
            raise ValueError(f"it has more than {self._max_entry_bytes} bytes")

    def _receive(self, key: str, file: BinaryIO) -> bool:
        """Fill the file with the object's bytes; False when there is no such object."""
        file.seek(0)
        file.truncate()
        try:
            response = self._client.get_object(self._location.bucket, key)
        except S3Error as error:
            if error.code in _NOT_THERE:
                return False
            raise
        try:
            for block in response.stream(_BLOCK_BYTES):
                self._add(block, file)
        finally:
            response.close()
        return True

    def _put(self, key: str, file: BinaryIO, size_bytes: int) -> bool:
        """Send the file; False when there is such an object already."""
        url = self._client.get_presigned_url("PUT", self._location.bucket, key, expires=_URL_LIFE)
        file.seek(0)
        headers = {"If-None-Match": "*", "Content-Length": str(size_bytes)}
        response = self._http.request("PUT", url, body=file, headers=headers, redirect=False)
        if response.status == _OK:
            return True
        if response.status in (_PRECONDITION_FAILED, _CONFLICT) and self._exists(key):
            return False
        raise _refusal(response)

    def _exists(self, key: str) -> bool:
        try:
            self._client.stat_object(self._location.bucket, key)
        except S3Error as error:
            if error.code in _NOT_THERE:
                return False
            raise
        return True

    def _persist(self, ask: Callable[[], Answer]) -> Answer:
        """Ask a few times, as long as the failure may soon be over."""
        for failures in range(1, _TRIES):
            try:
                return ask()
            except (MinioException, HTTPError) as error:
                if not is_passing(error):
                    raise
            self._sleep(back_off_seconds(failures))
        return ask()

    def _key(self, path: str) -> str:
        return "/".join((self._location.prefix, *names_of(path)))

    def _spool(self) -> BinaryIO:
        return cast(BinaryIO, tempfile.TemporaryFile(dir=self._spool_directory))

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        """Turn what the client raises into a StoreError that says what to do."""
        try:
            yield
        except (MinioException, HTTPError, OSError) as error:
            raise StoreError(f"cannot {what}: {explain(error, self._location)}") from error
        except ValueError as error:
            # Too large, or a name that S3 does not have.
            raise StoreError(f"cannot {what}: {error}") from error


class _Provider(Provider):
    """Hands the client what is asked for anew."""

    def __init__(self, ask: Callable[[], Credentials]) -> None:
        self._ask = ask

    def retrieve(self) -> MinioCredentials:
        """Return who asks now; StoreError when nobody knows."""
        found = self._ask()
        return MinioCredentials(found.access_key, found.secret_key, found.session_token)


def _written(file: BinaryIO) -> memoryview:
    file.flush()
    return mapped(file)


def _refusal(response: urllib3.BaseHTTPResponse) -> MinioException:
    """Return the error that an answer with another status than 200 stands for."""
    try:
        return S3Error.fromxml(response)
    except (ElementTree.ParseError, UnicodeDecodeError):
        return ServerError("no S3 error came", response.status)
