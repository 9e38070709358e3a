"""The settings file as a volume of Kubernetes shows it, and as a careless writer leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from specfleet_aggregator.settings_file import SettingsFile
from specfleet_aggregator.tests.builders import write_settings
from specfleet_common.api.learning import SettingsError


class Mounted:
    """A ConfigMap volume: a file is a link into a folder that is replaced as a whole."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "settings.json"
        self._count = 0

    def show(self, text: str | None = None, **changes: object) -> None:
        """Swap in a folder with new settings, or with this text."""
        folder = self.directory / f"..{self._count}"
        self._count += 1
        folder.mkdir()
        if text is None:
            write_settings(folder / "settings.json", **changes)
        else:
            (folder / "settings.json").write_text(text)
        link = self.directory / "..data_tmp"
        link.symlink_to(folder.name)
        link.replace(self.directory / "..data")
        if not self.path.is_symlink():
            self.path.symlink_to("..data/settings.json")


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    volume = Mounted(tmp_path)
    volume.show(local_steps=5)
    return volume


def test_a_swapped_volume_is_seen_once(mounted: Mounted) -> None:
    file = SettingsFile(mounted.path)

    before = file.look()
    mounted.show(local_steps=7, generation=2)
    looks = [file.look(), file.look()]

    assert (before, looks) == (False, [True, False])
    assert file.in_force.settings.local_steps == 7


def test_a_file_that_cannot_be_used_is_logged_once_and_the_old_one_stays(mounted: Mounted) -> None:
    file = SettingsFile(mounted.path)

    with capture_logs() as logs:
        for text in ("{", "{", "{"):
            mounted.show(text)
            file.look()
            file.look()

    assert [entry["event"] for entry in logs] == ["settings_refused"]
    assert logs[0]["file"] == str(mounted.path)
    assert file.in_force.settings.local_steps == 5
    assert file.in_force.error.startswith("document: is not JSON")


def test_a_file_that_is_gone_is_trouble_until_it_is_back(mounted: Mounted) -> None:
    file = SettingsFile(mounted.path)

    mounted.path.unlink()
    gone = file.look(), file.in_force.error
    mounted.show(local_steps=7)
    back = file.look(), file.in_force.error

    assert gone == (True, "cannot be read: No such file or directory")
    assert back == (True, "")
    assert file.in_force.settings.local_steps == 7


@pytest.mark.parametrize("text", [None, "{}"])
def test_a_start_needs_a_file_of_use(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "settings.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(SettingsError, match=f"{path}: "):
        SettingsFile(path)
