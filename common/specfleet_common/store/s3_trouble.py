"""Says in one sentence what is wrong with an S3 store and what to do. Pure.

Nothing of a request's URL gets into a sentence: a presigned one is a credential.
"""

from __future__ import annotations

import ssl

import urllib3.exceptions as http
from minio.error import InvalidResponseError, MinioException, S3Error, ServerError

from specfleet_common.store.location import S3Location

_WRONG_CREDENTIALS = frozenset(
    {"InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "XAdminUserNotFound"}
)
_EXPIRED = frozenset({"ExpiredToken", "TokenRefreshRequired"})
_FORBIDDEN = frozenset({"AccessDenied", "AllAccessDisabled", "AccountProblem"})
_WRONG_CLOCK = frozenset({"RequestTimeTooSkewed", "RequestExpired", "RequestNotReadyYet"})
_WRONG_REGION = frozenset(
    {"AuthorizationHeaderMalformed", "AuthorizationQueryParametersError", "PermanentRedirect"}
)
_FULL = frozenset({"NoSpaceLeftOnDevice", "QuotaExceeded", "XMinioStorageFull", "InsufficientData"})
_LATER = "it is asked again later"
_FAILED_SERVER = 500
_INSUFFICIENT_STORAGE = 507


def is_passing(error: MinioException | http.HTTPError) -> bool:
    """Say whether asking again at once may help: it has failed fast, and not for what was asked."""
    if isinstance(error, S3Error):
        return error.response.status >= _FAILED_SERVER
    if isinstance(error, ServerError):
        return error.status_code >= _FAILED_SERVER
    return not isinstance(error, http.SSLError | http.TimeoutError)


def explain(error: Exception, location: S3Location) -> str:
    """Return what is wrong; any error that the client raises is answered."""
    where = location.endpoint
    if isinstance(error, S3Error):
        return _answered(error, location)
    if isinstance(error, ServerError):
        return f"{where} answered HTTP {error.status_code}: {_LATER}"
    if isinstance(error, InvalidResponseError):
        return f"{where} gave an answer that is not S3's: check the endpoint; {_LATER}"
    if isinstance(error, http.SSLError):
        return _insecure(error, where)
    if isinstance(error, http.NameResolutionError):
        return f"the host of {where} is not known: check the endpoint"
    if isinstance(error, http.ReadTimeoutError):
        return f"{where} was silent for too long: {_LATER}"
    if isinstance(error, http.ConnectTimeoutError | http.NewConnectionError):
        return f"{where} cannot be reached: check the endpoint, and that the server runs"
    if isinstance(error, OSError):
        return str(error)
    return f"the connection to {where} broke ({type(error).__name__}): {_LATER}"


def _answered(error: S3Error, location: S3Location) -> str:
    where, bucket, code = location.endpoint, location.bucket, error.code
    if code == "NoSuchBucket":
        return f"{where} has no bucket {bucket}: create it, or correct the name"
    if code in _WRONG_CREDENTIALS:
        return (
            f"{where} refuses the credentials ({code}): check AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY"
        )
    if code in _EXPIRED:
        return f"the credentials for {where} have expired ({code}): start again with new ones"
    if code in _FORBIDDEN:
        return (
            f"the credentials may not do this in bucket {bucket} of {where} ({code}): they need to "
            "get and put objects and to list the bucket"
        )
    if code in _WRONG_CLOCK:
        return f"{where} says that this machine's clock is wrong ({code}): correct it"
    if code in _WRONG_REGION:
        return (
            f"bucket {bucket} of {where} is not in region {location.region} ({code}): correct the "
            "region"
        )
    if code in _FULL or error.response.status == _INSUFFICIENT_STORAGE:
        return f"{where} is full ({code}): free space there, or raise the quota"
    if code == "NotImplemented":
        return f"{where} lacks what is needed ({code}): use a server that knows If-None-Match"
    return f"{where} answered HTTP {error.response.status} ({code}): {_LATER}"


def _insecure(error: http.SSLError, where: str) -> str:
    cause = error.args[0] if error.args else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {where} is not trusted ({cause.verify_message}): name the CA that "
            "signed it"
        )
    return f"{where} does not speak TLS as expected: check the endpoint's scheme and port"
