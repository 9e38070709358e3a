"""Links of a page that lead out of docs/, made fit for the site. Pure.

On a forge such a link opens the file. The site has only the pages: there it leads to the forge if
the site knows one, and else only its text stays.
"""

from __future__ import annotations

import posixpath
import re

_FENCE = re.compile(r"^(```.*?^```)$", flags=re.M | re.S)
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((\.\./[^)\s]+)\)")


def with_sources(markdown: str, page: str, forge: str) -> str:
    """Return the text of a page of docs/ with links to the repository as the site needs them.

    `forge` is the address below which the files of the repository are, empty when there is none.
    """

    def changed(link: re.Match[str]) -> str:
        text, target = link.groups()
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if path.startswith("docs/"):
            return link[0]
        return f"[{text}]({forge.rstrip('/')}/{path})" if forge else text

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(changed, part) for part in parts)
