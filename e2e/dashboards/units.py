"""Values in the units of panels, as Grafana writes them or nearly so. Pure."""

from __future__ import annotations

_SECONDS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_SHORT = ((1e9, "Bil"), (1e6, "Mil"), (1e3, "K"), (1.0, ""))
_SCALES = {"s": _SECONDS, "bytes": _BYTES, "Bps": _BYTES, "short": _SHORT}
_AFTER = {"Bps": "/s", "reqps": " req/s", "ops": " ops/s", "none": "", "short": "", "bytes": ""}


def written(value: float, unit: str, *, decimals: int | None = None, now: float = 0.0) -> str:
    """Return a value with its unit; `now` is what moments are told from."""
    if unit == "dateTimeFromNow":
        return f"{written(now - value / 1000, 's')} ago"
    if unit == "percentunit":
        return f"{_digits(100 * value, decimals)} %"
    if unit.startswith("suffix: "):
        return f"{_digits(value, decimals)} {unit.removeprefix('suffix: ')}"
    if unit in _SCALES:
        factor, name = _scale(abs(value), unit)
        return f"{_digits(value / factor, decimals)} {name}".strip() + _AFTER.get(unit, "")
    return _digits(value, decimals) + _AFTER[unit]


def _scale(size: float, unit: str) -> tuple[float, str]:
    scales = _SCALES[unit]
    usual = (1.0, next(name for factor, name in scales if factor == 1.0))
    if not size:
        return usual
    return next((one for one in scales if size >= one[0]), scales[-1])


def _digits(value: float, decimals: int | None) -> str:
    return f"{value:.3g}" if decimals is None else f"{value:.{decimals}f}"
