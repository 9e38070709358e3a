"""Downloads the model of an engine from the Hugging Face hub before the engine starts.

`python3 -m specfleet_engine.downloading --repository owner/name --revision COMMIT --directory …`
runs in the engine's image, which has the hub's client. What is there already is not asked for
again, so that an engine starts again without the hub; what broke off goes on. Only files that hold
no code of a checkpoint are taken: weights are safetensors.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final

FILES: Final = (
    *("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "*.tiktoken"),
    # Read only by engines with --trust-remote-code.
    "*.py",
)
_UNFINISHED = "unfinished "


def mark(directory: Path) -> Path:
    """Return the file that names the revision a directory is of, and says whether it is complete.

    It is beside the directory: the hub's client takes one that is not empty for a model when it
    cannot reach the hub, or may not, and says nothing of either.
    """
    return directory.with_name(f".{directory.name}.revision")


def is_complete(directory: Path, revision: str) -> bool:
    """Say whether the directory has the whole revision."""
    return _marked(directory) == revision


def download(repository: str, revision: str, directory: Path) -> None:
    """Have the revision in the directory, and nothing of another; OSError or ValueError if not."""
    from huggingface_hub import snapshot_download

    if _marked(directory).removeprefix(_UNFINISHED) != revision:
        # First of all, so that nothing passes for whole that is half removed.
        mark(directory).unlink(missing_ok=True)
        if directory.exists():
            shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    _mark(directory, f"{_UNFINISHED}{revision}")
    snapshot_download(
        repository, revision=revision, local_dir=directory, allow_patterns=list(FILES)
    )
    if not (directory / "config.json").exists() or not any(directory.glob("*.safetensors")):
        raise ValueError("has no config.json or no safetensors files, expected a model with both")
    _mark(directory, revision)


def main() -> int:
    """Download what is not there yet, and say in a sentence what went wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repository", required=True)
    arguments.add_argument("--revision", required=True, help="the commit, in full")
    arguments.add_argument("--directory", type=Path, required=True)
    options = arguments.parse_args()
    name = f"{options.repository} at {options.revision[:12]}"
    if is_complete(options.directory, options.revision):
        print(f"{name}: is there")
        return 0

    # Of the library by which the client asks, which is not the same in every image: that a server
    # cannot be reached is one of these, and none of the hub's own.
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    try:
        download(options.repository, options.revision, options.directory)
    except (HTTPError, OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    print(f"{name}: is downloaded")
    return 0


def _marked(directory: Path) -> str:
    file = mark(directory)
    return file.read_text().strip() if file.exists() else ""


def _mark(directory: Path, text: str) -> None:
    file = mark(directory)
    written = file.with_name(f"{file.name}.new")
    written.write_text(f"{text}\n")
    written.replace(file)


if __name__ == "__main__":
    sys.exit(main())
