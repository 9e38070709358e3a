"""The ends of logs that are being written."""

from __future__ import annotations

from pathlib import Path

from specfleet_cli.logs import last_message, tail


def test_the_tail_has_the_last_lines_that_are_not_blank(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntwo\n\n  \nthr\xffee\n")

    assert tail(path, 2) == ("two", "thr\ufffdee")


def test_a_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert tail(tmp_path / "absent.log", 3) == ()


def test_a_message_is_shown_without_what_vllm_puts_before_it(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("(APIServer pid=15502) INFO 11-30 00:00:42 [compilation.py:31] Loading\n")

    assert last_message(path) == "Loading"


def test_the_mark_of_a_start_is_no_message(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("old\n--- start 2, 2026-01-01\n")

    assert last_message(path) == "old"
