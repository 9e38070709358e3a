"""A process as the run sees it: answers health checks and has a child of its own; run by path.

Arguments: port, and a file that gets the ids of this process and its child. It ignores SIGTERM
when a third argument says `stubborn`.
"""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
from pathlib import Path


class Healthy(http.server.BaseHTTPRequestHandler):
    """Says 200 to everything."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.end_headers()


def main(port: str, pids: str, manner: str = "polite") -> None:
    """Serve for ever."""
    if manner == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    whole = Path(f"{pids}.new")
    whole.write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
    whole.replace(pids)
    print("a line of the log", flush=True)
    http.server.HTTPServer(("127.0.0.1", int(port)), Healthy).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
