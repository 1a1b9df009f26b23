# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A memory topic that somebody else made."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import topic_reading
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.topic_reading import (
    read_topic,
    require_compacted,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, Source
from unit.leadership.well_cluster import Bastion


def _answer(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Setting] | int) -> None:
    """DescribeConfigs, or the code that it is refused with."""

    def read_own(*_arguments: Any) -> dict[str, Setting]:
        if isinstance(answer, int):
            raise error_codes.refusal("DescribeConfigs", answer)
        return answer

    monkeypatch.setattr(topic_reading, "read_own", read_own)


@pytest.mark.parametrize(
    "answer", [{"cleanup.policy": Setting("compact", Source.BROKER)}, error_codes.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_a_compacted_topic_will_do_and_one_that_is_not_there_yet(
    bastion: Bastion, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Setting] | int
) -> None:
    _answer(monkeypatch, answer)
    require_compacted(bastion.wire, "t")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"cleanup.policy": Setting("delete", Source.DEFAULT)}, "topic t is delete: .*kafka-configs.sh"),
        ({"cleanup.policy": Setting("compact,delete", Source.BROKER)}, "topic t is compact,delete: "),
        ({}, "topic t is not told: "),
        (error_codes.TOPIC_AUTHORIZATION_FAILED, "TOPIC_AUTHORIZATION_FAILED .* needs DESCRIBE_CONFIGS on it"),
    ],
)
def test_a_topic_that_may_expire_is_refused(
    bastion: Bastion, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Setting] | int, fault: str
) -> None:
    _answer(monkeypatch, answer)
    with pytest.raises(JournalError, match=fault):
        require_compacted(bastion.wire, "t")


def test_a_topic_of_several_partitions_is_refused(bastion: Bastion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        topic_reading, "describe_partitions", lambda _wire, topics: bastion.cluster.describe_partitions(topics)
    )
    for number in range(2):
        bastion.cluster.add(number, (1, 2), leader=1)
    with pytest.raises(JournalError, match=r"topic orders has 2 partitions.*memory_topic"):
        read_topic(bastion.wire, {}, "orders")
