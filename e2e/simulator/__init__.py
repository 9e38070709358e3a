"""An engine stand-in for tests of the control plane: vLLM's API and the plugin's shared memory.

There is no model: texts are a function of the prompt, and how well a drafter drafts is set by the
test. `image/` is what makes it a drop-in: a package `vllm` for images, never on a path where the
real one is.
"""
