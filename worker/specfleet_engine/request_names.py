"""What a request is called where engine and API server, which know it by two ids, have to agree."""

from __future__ import annotations

import hashlib
import re

LONGEST = 100
_INTERNAL = re.compile(r"(?:\d+_)?(.+)-[0-9a-f]{8}", re.DOTALL)


def external_id(request_id: str) -> str:
    """Return the id under which vLLM's API server knows a request of the model runner.

    vLLM makes ids unique by a random end; of several answers to one request each has a number too.
    """
    found = _INTERNAL.fullmatch(request_id)
    return request_id if found is None else found.group(1)


def page_name(name: str) -> str:
    """Return a name for a page: the id itself, or a digest of one that needs much room.

    Ids come from clients, and what they send must not fill a page.
    """
    if len(name) <= LONGEST and name.isascii() and name.isprintable():
        return name
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
