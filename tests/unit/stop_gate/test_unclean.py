# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the controller elects unclean, of topics with a value of their own and of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import ControllerConfigs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.unclean import read_unclean


@dataclass
class FakeConfigs(Kafka):
    """Topic "own" has a value of its own, and topic "inherited" that of the brokers, which is false."""

    controllers: Mapping[int, str | None] = field(default_factory=dict)
    unknown: str = ""

    def __post_init__(self) -> None:
        # Unused: every request of the tests is answered here.
        self.wire = cast(Wire, None)

    def topic_configs(self, names: Sequence[str], name: str) -> dict[str, Setting]:
        return {
            each: Setting("false", SettingSource.BROKER if each == "own" else SettingSource.DEFAULT) for each in names
        }

    def controller_configs(self, name: str) -> ControllerConfigs:
        return ControllerConfigs(self.controllers, self.unknown)


@pytest.mark.parametrize(
    ("controllers", "inherited"),
    [
        ({}, False),
        ({101: "true"}, True),
        ({101: "false", 102: "true"}, True),
        ({101: "false"}, False),
        ({101: None}, False),
    ],
    ids=["not asked", "true", "one of them", "false", "unknown"],
)
def test_the_controllers_decide_for_topics_without_their_own_value(
    controllers: Mapping[int, str | None], *, inherited: bool
) -> None:
    kafka = FakeConfigs(controllers)
    assert read_unclean(kafka, ["own", "inherited"]).values == {"own": False, "inherited": inherited}


def test_controllers_that_do_not_answer_are_named_where_a_partition_would_have_no_leader() -> None:
    states = [_led(topic) for topic in ("own", "inherited")]
    notes = read_unclean(FakeConfigs({101: "false"}, "controller 102: timed out"), ["own", "inherited"]).doubt(states)
    assert len(notes) == 1
    assert "controller 102: timed out" in notes[0]
    assert "inherited 0" in notes[0]
    assert "own 0" not in notes[0]


def test_there_is_no_doubt_if_all_controllers_answered() -> None:
    assert read_unclean(FakeConfigs({101: "false"}), ["inherited"]).doubt([_led("inherited")]) == []


def _led(topic: str) -> PartitionState:
    return PartitionState(topic, 0, "", 1, 0, (1, 2), (1,), None, None, ())
