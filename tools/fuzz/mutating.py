"""How good input is spoilt: byte by byte, and value by value where it is JSON. Pure."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from tools.fuzz.border import Border

_SIZES: Final = (0, 1, 4, 255, 1 << 16, (1 << 31) - 1, (1 << 32) - 1, 1 << 60, (1 << 64) - 1)
_MOST_CHANGES = 3
_LONGEST_CHANGE = 16

# What Python's own json would not write is written by hand.
_VALUES: Final = (
    *("null", "true", "0", "-1", "1.5", "1e999", "-1e999", "NaN", "Infinity", "1e-320"),
    *(str(1 << 60), str(1 << 64), f"-{'9' * 40}", "9" * 4000, "9" * 5000),
    *('""', '"a"', '"../../x"', '".hidden"', r'"\ud800"', r'"\u0000"', f'"{"x" * 9000}"'),
    *("[]", "{}", "[[]]", '{"a": 1}', "[null]", f"[{1 << 60}]", f"[0, {1 << 62}]", "[-1]"),
    *("[" * 3000 + "]" * 3000, '{"a":' * 3000, f"[{', '.join(['1'] * 3000)}]"),
    f"[{', '.join(['9' * 4000] * 9)}]",
    '{"a": 1, "a": 2}',
)
_YAML: Final = (
    *("!!int x", "!!float x", "!!bool x", "!!timestamp x", "!!binary x", "!!python/none", "!!set"),
    *("2024-13-99", "2024-01-01", "? [a]\n: b", "&a [*a]", "&a {b: *a}", "<<: 1", "1:2", ".nan"),
    *("0x" + "f" * 5000, "[" * 400, "---\n", "%YAML 9.9\n", "\ud7ff", "*b", "- " * 400, "~"),
    *("? 2024-01-01\n: 1", "1: 2", "null: 1", "? !!binary YQ==\n: 1", "..."),
)
_MARK = "\x00mark\x00"


def spoilt(border: Border, random: Random) -> bytes:
    """Return what to try on a border: one of its seeds with something changed."""
    seed = random.choice(border.seeds)
    if border.is_json and random.random() < 0.7:
        return spoilt_json(seed, random)
    return spoilt_bytes(seed, random)


def spoilt_bytes(data: bytes, random: Random) -> bytes:
    """Return the bytes with a few places replaced, left out or added to."""
    for _ in range(random.randint(1, _MOST_CHANGES)):
        begin = random.randint(0, len(data))
        end = random.randint(begin, min(len(data), begin + _LONGEST_CHANGE))
        data = data[:begin] + _piece(random, end - begin) + data[end:]
    return data


def spoilt_json(data: bytes, random: Random) -> bytes:
    """Return the document with one value replaced, left out or given another name.

    What is not JSON, as YAML may be, gets a value of YAML at the end of one of its lines.
    """
    try:
        document = json.loads(data)
    except RecursionError:
        return spoilt_bytes(data, random)
    except ValueError:
        return _spoilt_yaml(data, random)
    places = _places(document)
    if not places:
        return random.choice(_VALUES).encode()
    holder, key = random.choice(places)
    change = random.random()
    if change < 0.7 or isinstance(holder, list):
        holder[key] = _MARK
    elif change < 0.85:
        del holder[key]
    else:
        holder[random.choice(["", "a", "\ud800", "x" * 3000])] = holder.pop(key)
    text = json.dumps(document).replace(json.dumps(_MARK), random.choice(_VALUES))
    return text.encode()


def _spoilt_yaml(data: bytes, random: Random) -> bytes:
    lines = data.decode(errors="replace").split("\n")
    line = random.randrange(len(lines))
    name, colon, _ = lines[line].partition(":")
    indent = " " * (len(name) - len(name.lstrip()))
    value = random.choice(_YAML)
    lines[line] = f"{name}{colon} {value}" if random.random() < 0.7 else f"{indent}{value}"
    return "\n".join(lines).encode()


def _piece(random: Random, length: int) -> bytes:
    kind = random.random()
    if kind < 0.3:
        width = random.choice((1, 2, 4, 8))
        return (random.choice(_SIZES) % (1 << 8 * width)).to_bytes(width, "little")
    if kind < 0.5:
        return b""
    return random.randbytes(length if kind < 0.8 else random.randint(0, _LONGEST_CHANGE))


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return every place where a value stands, as what holds it and its key there."""
    if isinstance(document, dict):
        keys: list[Any] = list(document)
    elif isinstance(document, list):
        keys = list(range(len(document)))
    else:
        return []
    below = (place for key in keys for place in _places(document[key]))
    return [*((document, key) for key in keys), *below]
