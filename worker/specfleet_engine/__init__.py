"""specfleet's vLLM plugin: capture the drafter's training signal, swap its weights, say what runs.

It uses only what a vLLM image has. Without `SPECFLEET_ENGINE_SHM_DIRECTORY` it does nothing.
"""


def register() -> None:
    """Install the hooks; vLLM calls this in each of its processes, in some of them twice."""
    from specfleet_engine.plugin import install

    install()
