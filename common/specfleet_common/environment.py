"""Settings of a process, read from its environment; what is wrong is said variable by variable."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings
from pydantic_settings.exceptions import SettingsError

from specfleet_common.mistakes import dotted, sentence, shortened

Settings = TypeVar("Settings", bound=BaseSettings)

_FIELD = re.compile(r'"(\w+)"')


class EnvironmentWrong(ValueError):
    """Variables are missing or not what they should be; the message names each."""


def read_environment(kind: type[Settings]) -> Settings:
    """Return the settings; EnvironmentWrong when they cannot be had."""
    prefix = kind.model_config.get("env_prefix", "")
    try:
        return kind.model_validate({})
    except ValidationError as error:
        words = shortened(_words(mistake, prefix) for mistake in error.errors())
        raise EnvironmentWrong(f"settings are wrong: {'; '.join(words)}") from error


def _words(mistake: object, prefix: str) -> str:
    assert isinstance(mistake, dict)
    location = mistake["loc"]
    if isinstance(cause := mistake.get("ctx", {}).get("error"), SettingsError):
        # Its only word of use is the field, which is in quotes.
        found = _FIELD.search(str(cause))
        return f"{prefix}{found[1].upper() if found else ''}: is not JSON"
    if not location:
        return sentence(mistake).removeprefix("document: ")
    field = dotted(location[:1])
    return sentence(mistake).replace(field, prefix + field.upper(), 1)
