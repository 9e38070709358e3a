"""The file with what may change while the aggregator runs: read at the start and again after."""

from __future__ import annotations

from pathlib import Path

import structlog

from specfleet_aggregator.learning import InForce, refuse, take
from specfleet_common.api.learning import SettingsError, parse_settings
from specfleet_common.files import read_small
from specfleet_common.following import Watch

log = structlog.get_logger()


class SettingsFile:
    """Reads at once; SettingsError, which names the file, when that is not possible."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Looked at before it is read: a change in between is then seen by the next look.
        self._watch = Watch(path)
        self._is_unread = False
        try:
            self.in_force = InForce(parse_settings(read_small(path)))
        except OSError as error:
            raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from error

    def look(self) -> bool:
        """Read again what has changed; say whether something else is in force or wrong now."""
        if not self._watch.has_changed() and not self._is_unread:
            return False
        before, self._is_unread = self.in_force, False
        try:
            self.in_force = take(before, read_small(self._path))
        except OSError as error:
            # What keeps it from being read may pass without another change of the file.
            self._is_unread = True
            self.in_force = refuse(before, f"cannot be read: {error.strerror}")
        if self.in_force == before:
            return False
        if self.in_force.error:
            log.warning(
                "settings_refused",
                file=str(self._path),
                reason=self.in_force.error,
                generation=before.settings.generation,
            )
        else:
            log.info("settings_taken", generation=self.in_force.settings.generation)
        return True
