"""YAML that looks small is small."""

from __future__ import annotations

import pytest

from specfleet_common.api.yaml_text import MOST_NODES, YamlError, read_document, read_documents


def test_aliases_stand_for_what_they_name() -> None:
    assert read_document("a: &x [1]\nb: *x\n") == {"a": [1], "b": [1]}


def test_merged_mappings_are_one() -> None:
    assert read_document("a: &x {k: 1}\nb: {<<: *x, l: 2}\n")["b"] == {"k": 1, "l": 2}


def test_a_billion_values_in_ten_lines_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    with pytest.raises(YamlError, match=f"has more than {MOST_NODES} values"):
        read_document("\n".join(lines))


def test_a_billion_merged_names_are_refused() -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 10)]

    with pytest.raises(YamlError, match="has more than"):
        read_document("\n".join(lines))


def test_a_text_may_have_several_documents() -> None:
    assert read_documents("a: 1\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert read_document("") is None
