"""Which processes count together, and what one of them holds."""

from __future__ import annotations

import os

from e2e.soak.processes import Process, held, life_of, parents_of_all, tree


def test_a_process_counts_with_all_that_descend_from_it() -> None:
    parents = {2: 1, 3: 1, 4: 3, 5: 4, 6: 2, 7: 0}

    assert tree(3, parents) == (3, 4, 5)
    assert tree(7, parents) == (7,)


def test_what_this_process_holds_is_seen() -> None:
    me = Process("me", "run", (os.getpid(),))
    with open(os.devnull):
        before = held(me)
    after = held(me)

    assert before is not None
    assert after is not None
    assert before.file_descriptors - after.file_descriptors == 1
    assert before.threads >= 1
    assert before.memory_bytes > 1 << 20
    assert parents_of_all()[os.getpid()] == os.getppid()
    assert life_of(os.getpid()) == life_of(os.getpid()) != life_of(os.getppid())


def test_a_process_that_has_ended_holds_nothing() -> None:
    # Above every id that a kernel gives.
    assert life_of(2**22 + 1) is None
    assert held(Process("gone", "run", (2**22 + 1,))) is None
