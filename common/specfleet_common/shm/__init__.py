"""Shared memory between one engine and its sidecar: capture ring, weight bank, statistics pages.

Either side may die, restart or be absent at any instruction. The order of stores that readers rely
on is that of x86-64 (total store order); other machines need fences that Python does not have.
"""
