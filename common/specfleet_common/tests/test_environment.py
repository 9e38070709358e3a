"""Settings are read from the environment; what is wrong is said variable by variable."""

from __future__ import annotations

import pytest
from pydantic import PositiveInt, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from specfleet_common.environment import EnvironmentWrong, read_environment


class Some(BaseSettings):
    """Settings of a test."""

    model_config = SettingsConfigDict(env_prefix="SOME_", frozen=True)

    name: str
    count: PositiveInt = 1
    parts: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_not_bad(self) -> Some:
        if self.name == "bad":
            raise ValueError("name: is bad, expected a good one")
        return self


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        pytest.param({}, "SOME_NAME: is missing, expected a value", id="missing"),
        pytest.param(
            {"SOME_NAME": "a", "SOME_COUNT": "0"}, 'SOME_COUNT: is "0", expected', id="bound"
        ),
        pytest.param(
            {"SOME_NAME": "a", "SOME_PARTS": "b"}, "SOME_PARTS: is not JSON", id="no-json"
        ),
        pytest.param(
            {"SOME_NAME": "a", "SOME_PARTS": "[1]"}, "SOME_PARTS[0]: is 1, expected", id="part"
        ),
        pytest.param({"SOME_NAME": "bad"}, "wrong: name: is bad, expected a good", id="rule"),
    ],
)
def test_the_variable_is_named(
    variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(EnvironmentWrong) as refusal:
        read_environment(Some)

    assert words in str(refusal.value)


def test_what_is_right_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_NAME", "a")
    monkeypatch.setenv("SOME_PARTS", '["b"]')

    assert read_environment(Some) == Some(name="a", parts=("b",))
