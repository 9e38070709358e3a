"""How a person reads a fleet."""

from __future__ import annotations

from rich.text import Text

from specfleet_cli.status.columns import columns
from specfleet_cli.status.objects import report_of
from specfleet_cli.status.showing import details, document, table
from specfleet_cli.status.tests.test_objects import STATUS, fleet


def plain(lines: object) -> list[str]:
    return [line.plain for line in lines]  # type: ignore[attr-defined]


def test_details_have_every_part() -> None:
    lines = plain(details(report_of(fleet(STATUS), None), width=None))

    assert lines == [
        "fleet       tiny in namespace ml",
        "target      ./model",
        "drafter     stable is 12-0c0c0c0c, candidate is 20-14141414, "
        "2.30 tokens per verification step",
        "learning    round 21, version 20, loss 1.50 2.00, 2 of 3 live engines train",
        "promotion   tiny-20-141414141414: Rejected.",
        "store       s3://fleets/ml/tiny at http://s3:9000",
        "",
        "CONDITION   STATUS   REASON             SINCE                  MESSAGE",
        "Ready       False    StoreUnreachable   2027-01-15T08:00:00Z   "
        "The store takes no new version: 403.",
        "Serving     True     EnginesReady       -                      All 3 engines are ready.",
        "",
        "COHORT   SERVES   TRAINS   READY   ADAPTED   DRAFTER       ACCEPTANCE",
        "main     Stable   yes      2/2     1/2       12-0c0c0c0c   2.41",
    ]


def test_several_fleets_are_a_line_each() -> None:
    heading, one, other = plain(table([report_of(fleet(STATUS), None)] * 2, width=None))

    assert heading.split()[:3] == ["FLEET", "READY", "REASON"]
    assert one == other
    assert one.split()[:5] == ["tiny", "False", "StoreUnreachable", "2/2", "12-0c0c0c0c"]


def test_what_is_not_known_is_null_for_programs() -> None:
    found = document(report_of(fleet(), None))

    assert (found["learning"], found["promotion"], found["stable"]) == (None, None, None)
    assert found["cohorts"][0]["adapted"] is None


def test_the_last_column_is_folded_to_the_width_under_itself() -> None:
    rows = [[Text("Ready"), Text("one two three four five six")]]

    lines = plain(columns(("type", "message"), rows, width=30))

    assert lines == ["TYPE    MESSAGE", "Ready   one two three four", "        five six"]


def test_where_there_is_no_room_nothing_is_folded() -> None:
    rows = [[Text("Ready"), Text("one two three four five six")]]

    lines = plain(columns(None, rows, width=20))

    assert lines == ["Ready   one two three four five six"]
