# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked for beside a reviewed plan must be what the plan is for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import ALL_PARTITIONS, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.cluster_now import WantedReplicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.placement import plan_moves
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import RedundancyPlan
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.redundancy_module import (
    REDUNDANCY_PLAN_FILE,
    RedundancyOptionsError,
    require_same_wish,
)
from unit.redundancy.test_placement import a_cluster, a_partition

_LOST = frozenset({3, 5})
_PLAN = RedundancyPlan(
    cluster_id="abc",
    created_at="2026-01-31T23:59:59Z",
    lost_brokers=(3, 5),
    moves=plan_moves(
        a_cluster(*(a_partition((1, 3, 5), (1,), number) for number in range(2))), WantedReplicas(lost_brokers=_LOST)
    )[0],
    left_alone=(),
    racks=(),
    notes=(),
)


@pytest.mark.parametrize(
    "wish",
    [
        WantedReplicas(),
        WantedReplicas(lost_brokers=_LOST),
        WantedReplicas(all_under_replicated=True),
        WantedReplicas(partitions=frozenset({TopicPartition("orders", ALL_PARTITIONS)})),
    ],
)
def test_the_wish_that_a_plan_was_made_for_may_be_repeated(wish: WantedReplicas) -> None:
    require_same_wish(_PLAN, wish)


def test_another_wish_is_refused_with_every_difference() -> None:
    other = WantedReplicas(lost_brokers=frozenset({5}), partitions=frozenset({TopicPartition("orders", 1)}))
    with pytest.raises(RedundancyOptionsError) as refused:
        require_same_wish(_PLAN, other)
    assert str(refused.value).splitlines() == [
        "lost_brokers is 5, but that of the plan is 3, 5",
        "the plan also has partitions that were not asked for: orders-0",
        "Leave this out, or make a new plan",
    ]


def test_a_plan_file_that_would_drop_another_replica_is_refused(tmp_path: Path) -> None:
    """Its digest is right: another program made it."""
    moves = (replace(_PLAN.moves[0], target=_PLAN.moves[0].adding), *_PLAN.moves[1:])
    path = str(tmp_path / "plan.json")
    REDUNDANCY_PLAN_FILE.write(replace(_PLAN, moves=moves), path)
    with pytest.raises(DocumentError, match=r"/moves/0/target: is not what its replicas, what is added"):
        REDUNDANCY_PLAN_FILE.read(path)
    REDUNDANCY_PLAN_FILE.write(_PLAN, f"{path}.whole")
    assert REDUNDANCY_PLAN_FILE.read(f"{path}.whole") == _PLAN
