"""The images are made in one way, and hold what they say."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tools.sbom import packages

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(ROOT.glob("images/*/Dockerfile"))
IMAGES = [path.parent.name for path in FILES]


def text(image: str) -> str:
    """Return the Dockerfile, with continued lines joined."""
    return (ROOT / "images" / image / "Dockerfile").read_text().replace("\\\n", " ")


def instructions(image: str, word: str) -> list[str]:
    """Return what follows an instruction's word, once for each."""
    return re.findall(rf"^{word} +(.+)$", text(image), flags=re.M)


def site_packages(image: str) -> dict[str, list[Path]]:
    """Return the packages that are copied, by the directory they go to."""
    found: dict[str, list[Path]] = {}
    for command in instructions(image, "RUN"):
        if "images/install.py" in command:
            into, *folders = command.partition("--into ")[2].split()
            found[into] = [ROOT / folder for folder in folders]
    return found


def test_there_is_an_image_for_every_process_and_the_tests() -> None:
    assert IMAGES == ["agent", "aggregator", "engine-cpu", "operator", "simulator"]


@pytest.mark.parametrize("image", IMAGES)
def test_all_start_from_one_base(image: str) -> None:
    assert instructions(image, "ARG")[0] == instructions("operator", "ARG")[0]
    assert {line.split()[0] for line in instructions(image, "FROM")} == {"${BASE}"}


@pytest.mark.parametrize("image", IMAGES)
def test_none_runs_as_root_or_needs_a_shell(image: str) -> None:
    assert instructions(image, "USER") == ["10001:10001"]
    assert re.search(r'\nUSER .+\nENTRYPOINT \["python3", "-m", "[a-z_.]+"\]\n$', text(image))


def test_the_log_of_the_operator_has_no_lines_of_grpcs_own() -> None:
    (environment,) = instructions("operator", "ENV")

    assert "GRPC_VERBOSITY=ERROR" in environment.split()


@pytest.mark.parametrize("image", IMAGES)
def test_all_say_what_they_are(image: str) -> None:
    (labels,) = instructions(image, "LABEL")

    for label in ("title", "description", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{label}=" in labels
    assert f'image.title="specfleet-{image}"' in labels


@pytest.mark.parametrize("image", IMAGES)
def test_requirements_are_locked_and_from_the_builders_own_index(image: str) -> None:
    (install,) = [line for line in instructions(image, "RUN") if "pip install" in line]

    assert {"--require-hashes", "--no-deps"} <= set(install.split())
    assert "://" not in text(image)


@pytest.mark.parametrize("image", IMAGES)
def test_all_that_is_copied_exists(image: str) -> None:
    for line in instructions(image, "COPY"):
        if not line.startswith("--from="):
            *sources, _ = line.split()
            assert [name for name in sources if not list(ROOT.glob(f"{name}*"))] == []
    for folders in site_packages(image).values():
        assert [str(folder) for folder in folders if not folder.is_dir()] == []


@pytest.mark.parametrize("image", ["agent", "aggregator", "operator"])
def test_the_image_runs_its_own_package_without_those_of_others(image: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    folders = site_packages(image)["/opt/specfleet/site"]
    install(folders, site)

    (entry,) = re.findall(r'"-m", "([a-z_]+)"', text(image))
    assert (site / entry / "__main__.py").is_file()
    assert {path.name for path in site.glob("specfleet_*")} == {path.name for path in folders}
    (distribution,) = importlib.metadata.distributions(path=[str(site)])
    assert list(distribution.entry_points) == []
    assert list(site.rglob("tests")) == []
    assert len(list(site.rglob("*.pyc"))) == len(list(site.rglob("*.py")))


@pytest.mark.parametrize("image", ["agent", "aggregator", "operator"])
def test_everything_that_is_imported_is_in_the_lock(image: str) -> None:
    lock = ROOT / "images" / image / "requirements.txt"
    locked = {package.name for package in packages(lock.read_text())}
    folders = {folder.name: folder for folder in site_packages(image)["/opt/specfleet/site"]}
    entry = f"specfleet_{image}"
    start = {f"{entry}.__main__"} | trainers(folders)
    owners = importlib.metadata.packages_distributions()

    missing = {
        name
        for name in imported(start, folders)
        if not locked & {canonicalize_name(owner) for owner in owners.get(name, ())}
    }

    assert missing == set(), f"add them to the extra {image!r} in pyproject.toml, run `make lock`"


def test_vllm_finds_the_plugin_that_the_agents_image_carries(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    install(site_packages("agent")["/opt/specfleet/plugin"], plugin)

    (distribution,) = importlib.metadata.distributions(path=[str(plugin)])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {(entry.group, entry.name): entry.value for entry in distribution.entry_points}
    assert found == {
        (group, name): value
        for group, entries in project["entry-points"].items()
        for name, value in entries.items()
    }
    assert {group for group, _ in found} == {"vllm.general_plugins", "vllm.stat_logger_plugins"}
    assert distribution.metadata["Name"] == project["name"]
    assert distribution.version == project["version"]


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(subprocess.CalledProcessError) as refused:
        install([tmp_path / "empty"], tmp_path / "site")

    assert "empty: has no __init__.py, expected a package" in refused.value.stderr


def trainers(folders: Mapping[str, Path]) -> set[str]:
    """Return the module of the child process that the agent starts, where it is installed."""
    return {"specfleet_trainer.__main__"} if "specfleet_trainer" in folders else set()


def imported(start: set[str], folders: Mapping[str, Path]) -> set[str]:
    """Return the foreign packages that our modules import, those of functions included."""
    found: set[str] = set()
    seen: set[str] = set()
    ahead = set(start)
    while ahead:
        module = ahead.pop()
        seen.add(module)
        package, _, rest = module.partition(".")
        if package not in folders:
            found.add(package)
            continue
        path = folders[package].joinpath(*rest.split(".")) if rest else folders[package]
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.exists():
            ahead |= names(ast.parse(file.read_text())) - seen
    return found - sys.stdlib_module_names


def names(tree: ast.AST) -> set[str]:
    """Return what a module imports when it runs: modules, and names that may be modules."""
    found: set[str] = set()
    if isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING":
        return found
    if isinstance(tree, ast.Import):
        found |= {alias.name for alias in tree.names}
    if isinstance(tree, ast.ImportFrom) and tree.module is not None:
        found |= {tree.module} | {f"{tree.module}.{alias.name}" for alias in tree.names}
    for child in ast.iter_child_nodes(tree):
        found |= names(child)
    return found


def install(folders: list[Path], into: Path) -> None:
    """Run the script of the Dockerfiles."""
    subprocess.run(
        [sys.executable, ROOT / "images" / "install.py", "--into", into, *folders],
        capture_output=True,
        text=True,
        check=True,
    )
