"""What Python does first in an engine's processes when this folder is on PYTHONPATH.

vLLM's V2 model runner asks for Triton with a driver. `TRITON_INTERPRET=1` has Triton's own
interpreter run the kernels in numpy: slow, but the same runner, step by step, on any CPU. With
`SPECFLEET_E2E_LATE=1` the plugin takes the memory of this machine for a device whose work is done
later than asked for: so everything that it does on a GPU is done, but by CUDA.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

LATE_SECONDS = 0.02


class _Afterwards(MetaPathFinder):
    """Calls a function with a module once that is loaded."""

    def __init__(self, name: str, function: Any) -> None:
        self._name, self._function = name, function

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec: ModuleSpec | None = find_spec(name)
        assert spec is not None, f"{name} is not installed"
        assert spec.loader is not None, f"{name} has no loader"
        load = spec.loader.exec_module

        def load_and_call(module: ModuleType) -> None:
            load(module)
            self._function(module)

        setattr(spec.loader, "exec_module", load_and_call)  # noqa: B010 - it is an instance's
        return spec


def _give_triton_a_driver(backends: Any) -> None:
    backends.backends["cpu"] = SimpleNamespace(driver=SimpleNamespace(is_active=lambda: True))


def _come_late(attaching: Any) -> None:
    from specfleet_engine.tests.fake_device import FakeDevice

    attaching.device_of = lambda kind: FakeDevice(LATE_SECONDS)


if os.environ.get("TRITON_INTERPRET") == "1":
    sys.meta_path.insert(0, _Afterwards("triton.backends", _give_triton_a_driver))
if os.environ.get("SPECFLEET_E2E_LATE") == "1":
    sys.meta_path.insert(0, _Afterwards("specfleet_engine.attaching", _come_late))
