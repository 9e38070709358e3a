"""Environments of the programs, arguments of the command, files with tokens and certificates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic_settings import BaseSettings
from typer.testing import CliRunner

from specfleet_agent.settings import Settings as AgentSettings
from specfleet_aggregator.authentication import AuthenticationError, authenticator, token_in
from specfleet_aggregator.callers import CallRefused
from specfleet_aggregator.certificate import CertificateError, ServerCertificate
from specfleet_aggregator.settings import Settings as AggregatorSettings
from specfleet_aggregator.tests.issuing import EXPECTED, claims, ec_key, key_set
from specfleet_aggregator.tokens import parse_keys, verify
from specfleet_cli.app import app
from specfleet_cli.traffic.prompts import PromptsError, read_documents
from specfleet_common.environment import EnvironmentWrong, read_environment
from specfleet_common.store.tests.certificates import certificates
from specfleet_common.wire.access import AccessError, access_by_files
from specfleet_engine.settings import SettingsError, read_settings
from specfleet_operator.settings import Settings as OperatorSettings
from tools.bad_input.case import Case, Section, environment

_NOW = 1000.0
_AGENT = {"AGGREGATOR": "127.0.0.1:1", "WORKER_ID": "w"} | dict.fromkeys(
    ("STATE_DIRECTORY", "SHM_DIRECTORY", "MODEL"), "/tmp"
)
_AGGREGATOR = {"FLEET": "tiny", "SETTINGS_FILE": "/settings.json"}
_OPERATOR = {
    "OWN_NAMESPACE": "specfleet",
    "SERVICE_ACCOUNT": "specfleet",
    "POD_NAME": "specfleet-0",
    "AGENT_IMAGE": "agent",
    "AGGREGATOR_IMAGE": "aggregator",
}
_ENGINE = {"SPECFLEET_ENGINE_SHM_DIRECTORY": "/dev/shm", "SPECFLEET_ENGINE_FLEET": "tiny"}


def sections() -> tuple[Section, ...]:
    """Return these sections."""
    return (
        Section(
            "Environments",
            "A program prints the words and ends with 2. The engine's plugin logs them and leaves "
            "the engine alone, which serves without specfleet.",
            (
                _agent("no worker", WORKER_ID=""),
                _agent("no port", AGGREGATOR="aggregator"),
                _agent("a port that is none", HTTP_PORT="99999"),
                _agent("a list that is no JSON", TRAINER_COMMAND="python"),
                _agent("a token without encryption", AGGREGATOR="agg:1", TOKEN_FILE="/token"),
                _aggregator("no store"),
                _aggregator("a key without a certificate", **_DIRECTORY, TLS_KEY_FILE="/key"),
                _aggregator("two ways to know callers", **_DIRECTORY, **_TWO_WAYS),
                _aggregator("a store that is no address", STORE_S3='{"endpoint": "s3"}'),
                _operator("a namespace twice", NAMESPACES="a,b,a"),
                _operator("a lease of no time", LEASE_SECONDS="0"),
                _engine("no fleet", SPECFLEET_ENGINE_FLEET=""),
                _engine("a share above all", SPECFLEET_ENGINE_HOLDOUT_PERCENT="91"),
                _engine("a ring of all memory", SPECFLEET_ENGINE_RING_BYTES=str(1 << 39)),
            ),
        ),
        Section(
            "Arguments of the command",
            "`specfleet` prints the words and ends with 2.",
            (
                _command("an unknown command", "walk"),
                _command("no manifest", "run"),
                _command("less than one request", "traffic", "x", "--prompts", "y", *_REQUESTS),
                _prompts("no file of prompts", None),
                _prompts("a prompt that is no JSON", b"hello\n"),
                _prompts("a prompt without text", b'{"id": "a", "text": ""}\n'),
            ),
        ),
        Section(
            "Files with tokens, keys and certificates",
            "A program that starts with a wrong one ends with 2. One that runs keeps the last good "
            "one and logs the words; an agent without a token serves and trains on, and its "
            "heartbeats fail with the words.",
            (
                _token("no token", b" \n"),
                _token("a token of two lines", b"one\ntwo\n"),
                _token("more than a token has", b"x" * (2 << 20)),
                Case("no shared secret", AuthenticationError, _empty_secret),
                Case("keys that are no JSON", ValueError, lambda _: parse_keys(b"[")),
                Case("no keys", ValueError, lambda _: parse_keys(b'{"keys": []}')),
                Case("a key that is none", ValueError, lambda _: parse_keys(b'{"keys": [1]}')),
                _pair("a certificate that is none", certificate=b"x", key=None),
                _pair("a private key that is none", certificate=None, key=b"x"),
            ),
        ),
        Section(
            "Tokens of calls",
            "The call ends with `UNAUTHENTICATED` or `PERMISSION_DENIED` and the words, before "
            "anything of it is read. [Security](security.md) has the rest.",
            (
                _call("no token", ()),
                _call("another scheme", (("authorization", "Basic x"),)),
                _call("a gigantic token", (("authorization", f"Bearer {'x' * 5000}"),)),
                _jwt("no token of a cluster", lambda: "x"),
                _jwt("an unknown key", lambda: ec_key("other").sign(claims(now=_NOW))),
                _jwt("an expired token", lambda: _KEY.sign(claims(now=_NOW - 1e5))),
                _jwt("a time that is none", lambda: _KEY.sign(claims(now=_NOW, exp="soon"))),
                _jwt("another audience", lambda: _KEY.sign(claims(now=_NOW, aud=["other"]))),
                _jwt("somebody else", lambda: _KEY.sign(claims(now=_NOW, sub="somebody"))),
                _jwt("a token of no pod", lambda: _KEY.sign(claims(now=_NOW, pod=None))),
            ),
        ),
    )


_KEY = ec_key()
_DIRECTORY = {"STORE_DIRECTORY": "/store"}
_TWO_WAYS = {"TOKEN_FILE": "/token", "JWKS_FILE": "/jwks"}
_REQUESTS = ("--requests", "0")


def _agent(what: str, **changes: str) -> Case:
    return _program(what, AgentSettings, "SPECFLEET_AGENT_", {**_AGENT, **changes})


def _aggregator(what: str, **changes: str) -> Case:
    return _program(what, AggregatorSettings, "SPECFLEET_AGGREGATOR_", {**_AGGREGATOR, **changes})


def _operator(what: str, **changes: str) -> Case:
    return _program(what, OperatorSettings, "SPECFLEET_OPERATOR_", {**_OPERATOR, **changes})


def _program(what: str, kind: type[BaseSettings], prefix: str, variables: dict[str, str]) -> Case:
    def hand_in(place: Path) -> object:
        with environment({prefix + name: value for name, value in variables.items()}):
            return read_environment(kind)

    return Case(what, EnvironmentWrong, hand_in)


def _engine(what: str, **changes: str) -> Case:
    return Case(what, SettingsError, lambda _: read_settings({**_ENGINE, **changes}))


def _command(what: str, *arguments: str) -> Case:
    def hand_in(place: Path) -> str:
        result = CliRunner().invoke(app, arguments, env={"TERM": "dumb", "COLUMNS": "200"})
        assert result.exit_code == 2, result.output
        # The box that Typer draws, and the usage above it, are no words.
        lines = [line.strip(" │╭╮╰╯─") for line in result.output.splitlines()]
        return " ".join(line for line in lines[lines.index("Error") + 1 :] if line)

    return Case(what, None, hand_in)


def _prompts(what: str, data: bytes | None) -> Case:
    def hand_in(place: Path) -> object:
        path = place / "prompts.jsonl"
        if data is not None:
            path.write_bytes(data)
        return read_documents(path)

    return Case(what, PromptsError, hand_in)


def _token(what: str, data: bytes) -> Case:
    def hand_in(place: Path) -> object:
        path = place / "token"
        path.write_bytes(data)
        return access_by_files(token_file=path).token()

    return Case(what, AccessError, hand_in)


def _empty_secret(place: Path) -> object:
    path = place / "token"
    path.write_bytes(b"\n")
    settings = AggregatorSettings(
        fleet="tiny", settings_file=place, store_directory=place, token_file=path
    )
    return authenticator(settings, wall=lambda: _NOW)


def _pair(what: str, *, certificate: bytes | None, key: bytes | None) -> Case:
    def hand_in(place: Path) -> object:
        made = certificates(place)
        if certificate is not None:
            made.server.write_bytes(certificate)
        if key is not None:
            made.key.write_bytes(key)
        return ServerCertificate(made.server, made.key)

    return Case(what, CertificateError, hand_in)


def _call(what: str, metadata: tuple[tuple[str, str], ...]) -> Case:
    return Case(what, CallRefused, lambda _: token_in(metadata))


def _jwt(what: str, token: Callable[[], str]) -> Case:
    keys = parse_keys(key_set(_KEY))
    return Case(what, CallRefused, lambda _: verify(token(), keys, EXPECTED, now=_NOW))
