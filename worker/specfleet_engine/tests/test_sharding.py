"""A rank's part of a drafter, cut as vLLM cuts it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from specfleet_engine.layouts import LayoutError
from specfleet_engine.layouts.mimo import MimoLayout
from specfleet_engine.layouts.stacking import Stacking
from specfleet_engine.tests.test_layouts import LAYOUT, own
from specfleet_engine.weights.live import LiveDrafter
from specfleet_engine.weights.sharding import ShardedLayout, sharded, whole

RANKS = 4
PART = MimoLayout(LAYOUT.rank_prefix, Stacking(query_rows=2, key_value_rows=2, gate_rows=3))
"""Of four ranks: each has two rows of the queries' eight. Keys, values and gates are cut into two
parts only, which neighbours share."""


def part(rank: int) -> dict[str, torch.Tensor]:
    """Return a rank's parameters of `own(0)`, cut by hand."""
    cut = {
        "q_proj": (slice(2 * rank, 2 * rank + 2),),
        "k_proj": (slice(2 * (rank // 2), 2 * (rank // 2) + 2),),
        "v_proj": (slice(2 * (rank // 2), 2 * (rank // 2) + 2),),
        "gate_proj": (slice(3 * (rank // 2), 3 * (rank // 2) + 3),),
        "up_proj": (slice(3 * (rank // 2), 3 * (rank // 2) + 3),),
        "o_proj": (slice(None), slice(2 * rank, 2 * rank + 2)),
        "down_proj": (slice(None), slice(3 * (rank // 2), 3 * (rank // 2) + 3)),
    }
    whole = LAYOUT.to_checkpoint(own(0))
    return PART.to_rank(
        {name: value[cut.get(name.split(".")[-2], ())].clone() for name, value in whole.items()}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_file(
        {name: value.contiguous() for name, value in LAYOUT.to_checkpoint(own(0)).items()},
        tmp_path / "model.safetensors",
    )
    return tmp_path


@pytest.mark.parametrize("rank", range(RANKS))
def test_a_rank_gets_its_part_of_other_weights_and_tells_the_whole_stock(
    rank: int, folder: Path
) -> None:
    mine = {name: torch.nn.Parameter(value) for name, value in part(rank).items()}
    stock, wanted = LAYOUT.to_checkpoint(own(0)), part(rank)

    layout = ShardedLayout.of(PART, mine, folder, rank=rank, num_ranks=RANKS)
    drafter = LiveDrafter(mine, layout)
    alone = LiveDrafter({n: torch.nn.Parameter(v) for n, v in own(0).items()}, LAYOUT)

    got = layout.to_rank(stock)
    assert all(torch.equal(got[name], wanted[name]) for name in wanted)
    assert drafter.stock_digest == alone.stock_digest
    assert drafter.lineage("target") == alone.lineage("target")


def test_a_rank_that_holds_another_part_is_refused(folder: Path) -> None:
    mine = {name: torch.nn.Parameter(value) for name, value in part(0).items()}

    with pytest.raises(LayoutError, match="rank 3 of 4 does not hold the drafter"):
        ShardedLayout.of(PART, mine, folder, rank=3, num_ranks=RANKS)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((4, 4), id="two-axes"),
        pytest.param((8, 3), id="not-a-multiple"),
        pytest.param((8,), id="fewer-axes"),
        pytest.param((8, 16), id="more-than-whole"),
    ],
)
def test_a_tensor_that_cannot_be_cut_so_is_refused_by_name(shape: tuple[int, ...]) -> None:
    with pytest.raises(LayoutError, match=r"tensor one: \(8, 8\), expected"):
        sharded({"one": torch.zeros(8, 8)}, {"one": shape}, rank=0, num_ranks=2)


def test_a_foreign_tensor_is_refused_by_name() -> None:
    with pytest.raises(LayoutError, match="tensor lm_head is not one of the drafter's"):
        sharded({"lm_head": torch.zeros(1)}, {}, rank=0, num_ranks=2)


def test_a_checkpoint_without_the_drafter_is_refused(folder: Path) -> None:
    with pytest.raises(LayoutError, match="no tensor absent"):
        whole(folder, ["absent"], torch.float32)
