# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cluster the pool hands out, starts and stops. Real ones: tests/integration/lab/test_health.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from lab.node import NodeError
from lab.pool import ClusterPool, Specification


@dataclass
class FakeLab:
    """Stands in for a cluster: it notes what is done to it."""

    version: str
    notes: list[str] = field(default_factory=list)
    cannot_be_healed: bool = False

    def __enter__(self) -> FakeLab:
        self.notes.append("started")
        return self

    def __exit__(self, *_failure: object) -> None:
        self.notes.append("stopped")

    def heal(self) -> None:
        if self.cannot_be_healed:
            raise NodeError("broker 1 ended")
        self.notes.append("healed")


SMALL, LARGE = (Specification(name, FakeLab, FakeLab.heal) for name in ("small", "large"))


@pytest.fixture
def pool() -> Iterator[ClusterPool]:
    with ClusterPool() as pool:
        yield pool


def test_the_same_cluster_is_handed_out_again_healed(pool: ClusterPool) -> None:
    with pool.lease(SMALL, "4") as first:
        pass
    with pool.lease(SMALL, "4") as second:
        assert second is first
    assert first.notes == ["started", "healed"]
    assert pool.started == 1


@pytest.mark.parametrize(("specification", "version"), [(LARGE, "4"), (SMALL, "3")])
def test_another_kind_takes_the_place_of_the_one_that_is_up(
    pool: ClusterPool, specification: Specification[FakeLab], version: str
) -> None:
    with pool.lease(SMALL, "4") as first:
        pass
    with pool.lease(specification, version) as second:
        assert first.notes == ["started", "stopped"]
    assert second.version == version
    assert pool.started == 2


def test_one_that_cannot_be_healed_is_replaced(pool: ClusterPool) -> None:
    with pool.lease(SMALL, "4") as first:
        first.cannot_be_healed = True
    with pytest.warns(match="broker 1 ended"), pool.lease(SMALL, "4") as second:
        assert second is not first
    assert first.notes == ["started", "stopped"]


def test_one_that_a_user_left_by_an_error_is_not_handed_out_again(pool: ClusterPool) -> None:
    with pytest.raises(RuntimeError), pool.lease(SMALL, "4") as first:
        raise RuntimeError
    with pool.lease(SMALL, "4") as second:
        assert second is not first
    assert first.notes == ["started", "stopped"]


def test_all_are_stopped_in_the_end() -> None:
    with ClusterPool() as pool, pool.lease(SMALL, "4") as lab:
        pass
    assert lab.notes == ["started", "stopped"]
