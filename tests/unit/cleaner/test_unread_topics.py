# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A topic whose cleanup.policy cannot be read may be one that is not compacted any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case, CopyTrend, Thresholds
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import (
    inspect_by_sizes,
    look_at_copies,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting
from unit.cleaner.test_brokers import CLUSTER, FakeCopies

_BROKER = Broker(1, "kafka", 9092, None, is_fenced=False, state=BrokerState.ONLINE)
_LIMITS = Thresholds(
    stalled_after_ms=600_000, tolerated_uncleanable_partitions=0, suspect_ratio=10, suspect_bytes=1_000_000
)
_COMPACTED = CopyTrend(
    broker_id=1,
    log_dir="/d",
    topic="a",
    partition=0,
    looks=2,
    span_ms=60_000,
    first_bytes=900,
    last_bytes=100,
    has_shrunk=True,
    others_shrank=False,
    smallest_copy_bytes=None,
)


class FakeRefusals(FakeCopies):
    """DESCRIBE_CONFIGS is granted on topic a only."""

    def topic_configs(self, names: Sequence[str], name: str) -> dict[str, Setting]:
        return {each: found for each, found in super().topic_configs(names, name).items() if each == "a"}

    def read_broker_configs(
        self, addresses: Mapping[int, Address], _names: Sequence[str]
    ) -> Mapping[int, Mapping[str, Setting]]:
        return {each: {} for each in addresses}


def test_no_cleaner_is_healthy_while_such_a_topic_may_be_compacted() -> None:
    kafka = FakeRefusals(["a", "__consumer_offsets"])
    for unread, case in (((), Case.HEALTHY), (look_at_copies(kafka, CLUSTER).unread, Case.UNKNOWN)):
        (found,) = inspect_by_sizes(kafka, CLUSTER, [_BROKER], {1: (_COMPACTED,)}, _LIMITS, unread)
        assert found.diagnosis.case is case
    assert "whether 1 topic is compacted is not known: __consumer_offsets" in found.diagnosis.reason
