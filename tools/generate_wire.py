"""Generate the gRPC modules beside specfleet.proto: `python tools/generate_wire.py`.

The generator is old on purpose: what it writes loads in every protobuf runtime since, and the
runtime is whichever one a vLLM image has. It lives in an environment of its own, `.venv-gen`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv-gen"
PROTO = "specfleet_common/wire/v1/specfleet.proto"
REQUIREMENTS = ("grpcio-tools==1.49.1", "mypy-protobuf==3.6.0", "setuptools<80")


def main() -> int:
    """Create the environment when it is missing, then generate."""
    if not ENVIRONMENT.exists():
        create(ENVIRONMENT)
    generate(ENVIRONMENT / "bin")
    return 0


def create(environment: Path) -> None:
    """Make a virtual environment that has the generator, or none."""
    try:
        venv.create(environment, with_pip=True)
        subprocess.run(
            [environment / "bin" / "pip", "install", "--quiet", *REQUIREMENTS], check=True
        )
    except BaseException:
        shutil.rmtree(environment, ignore_errors=True)
        raise


def generate(programs: Path) -> None:
    """Write messages, services and their types."""
    command = [
        *(str(programs / "python"), "-W", "ignore", "-m", "grpc_tools.protoc", "--proto_path=."),
        *("--python_out=.", "--pyi_out=.", "--grpc_python_out=.", "--mypy_grpc_out=quiet:."),
        f"--plugin=protoc-gen-mypy_grpc={programs / 'protoc-gen-mypy_grpc'}",
        PROTO,
    ]
    subprocess.run(command, cwd=ROOT / "common", check=True)


if __name__ == "__main__":
    sys.exit(main())
