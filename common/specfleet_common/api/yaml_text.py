"""YAML as people write manifests, read strictly: no key twice, and never larger than it looks.

A few aliases of each other make gigabytes of a few lines; so what they stand for is counted first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import yaml

MOST_NODES: Final = 20_000
"""Values and names in all documents of a text, with what aliases stand for."""


MOST_LEVELS: Final = 100
_MERGE: Final = "tag:yaml.org,2002:merge"


class YamlError(ValueError):
    """A text is no YAML, or none that a manifest needs."""


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key given twice instead of keeping the last one."""

    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self._level >= MOST_LEVELS:
            raise yaml.MarkedYAMLError(
                problem=f"has more than {MOST_LEVELS} levels",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        self._level += 1
        try:
            node: yaml.Node | None = super().compose_node(parent, index)
            return node
        finally:
            self._level -= 1

    def compose_document(self) -> yaml.Node | None:
        node: yaml.Node | None = super().compose_document()
        if node is not None:
            _count(node, {})
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.MarkedYAMLError(
                    problem=f"a name is {ascii(key)[:80]}, expected text",
                    problem_mark=key_node.start_mark,
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key!r} is given twice, expected once",
                    problem_mark=key_node.start_mark,
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_document(text: str) -> Any:
    """Return the one document in a text; YamlError when there is none or are more."""
    documents = read_documents(text)
    if len(documents) > 1:
        raise YamlError(f"has {len(documents)} documents, expected one")
    return documents[0] if documents else None


def read_documents(text: str) -> list[Any]:
    """Return the documents in a text."""
    try:
        return list(yaml.load_all(text, _Loader))
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        # A value is not what its tag, or its look, says.
        raise YamlError(f"not YAML: a value is none of its kind: {error}") from error


def _count(node: yaml.Node, known: dict[int, int | None]) -> int:
    """Return how many nodes a node stands for; `known` has those that aliases name again."""
    if id(node) in known:
        count = known[id(node)]
        if count is None:
            raise yaml.MarkedYAMLError(
                problem="a value contains itself", problem_mark=node.start_mark
            )
        return count
    known[id(node)] = None
    below: list[yaml.Node] = []
    if isinstance(node, yaml.SequenceNode):
        below = node.value
    elif isinstance(node, yaml.MappingNode):
        below = [one for pair in node.value for one in pair]
    count = 1 + sum(_count(one, known) for one in below)
    if count > MOST_NODES:
        raise yaml.MarkedYAMLError(
            problem=f"has more than {MOST_NODES} values", problem_mark=node.start_mark
        )
    known[id(node)] = count
    return count
