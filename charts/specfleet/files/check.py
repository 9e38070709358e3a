"""What `helm test` runs: is the operator ready, and does the API serve our kinds?

It runs in the operator's image and uses the standard library only. It ends with 1 and a sentence
when something is missing.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

TIMEOUT_SECONDS = 5
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
GROUP = "/apis/specfleet.dev/v1alpha1"
KINDS = {"SpeculatorFleet", "DrafterPromotion"}


def main() -> int:
    """Check what the environment names; print one line for each."""
    try:
        print(operator_ready(os.environ["OPERATOR_URL"]))
        print(kinds_served(fetch(os.environ["API_URL"] + GROUP, ACCOUNT)))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def operator_ready(url: str) -> str:
    """Ask the operator; raise OSError when it does not answer that it is ready."""
    fetch(f"{url}/readyz")
    return f"the operator at {url} is ready"


def kinds_served(answer: bytes) -> str:
    """Look for our kinds in what the API server lists; raise ValueError when one is missing."""
    missing = KINDS - {resource["kind"] for resource in json.loads(answer)["resources"]}
    if missing:
        raise ValueError(f"specfleet.dev/v1alpha1 lacks {', '.join(sorted(missing))}")
    return f"the API serves {', '.join(sorted(KINDS))}"


def fetch(url: str, account: Path | None = None) -> bytes:
    """Return what a URL answers, as the service account whose files are in a directory."""
    request = urllib.request.Request(url)
    context = None
    if account is not None:
        request.add_header("Authorization", f"Bearer {(account / 'token').read_text()}")
        context = ssl.create_default_context(cafile=account / "ca.crt")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=context) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise OSError(f"{url} answered {error.code}: {error.read().decode()[:200]}") from error
    except OSError as error:
        raise OSError(f"{url} does not answer: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
