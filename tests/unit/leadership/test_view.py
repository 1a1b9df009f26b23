# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a look at the config reports besides what is to be done."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.configs import ConfigEntry
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist, Change
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory import Memory
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import Config, ListRequest, inspect
from unit.leadership.well_cluster import Bastion

_SET = ConfigEntry(None, is_sensitive=True)
_LISTED, _EMPTIED, _WRITING = Memory(Blacklist((1,)), "1", 3), Memory(revision=4), Memory(Blacklist((1,)), None, 1)


@pytest.mark.parametrize(
    ("entry", "memory", "wanted", "warnings"),
    [
        (_SET, _LISTED, ListRequest(Change.PRESENT, (2,), ()), []),
        (None, _EMPTIED, ListRequest(Change.PRESENT, (2,), ()), []),
        (None, _LISTED, ListRequest(Change.PRESENT, (2,), ()), ["somebody has deleted it"]),
        (_SET, _EMPTIED, ListRequest(Change.PRESENT, (2,), ()), ["or somebody else did; it is replaced"]),
        (_SET, _EMPTIED, ListRequest(Change.EXACT, (), ()), ["or somebody else did; it is deleted"]),
        (_SET, _WRITING, ListRequest(Change.PRESENT, (), ()), ["a run of ours that was killed set it"]),
        (_SET, Memory(), ListRequest(Change.EXACT, (), ()), ["is not remembered here: it is replaced"]),
    ],
)
def test_a_config_that_is_not_as_remembered_is_reported(
    bastion: Bastion, entry: ConfigEntry | None, memory: Memory, wanted: ListRequest, warnings: list[str]
) -> None:
    view = inspect(bastion.cluster, Config(entry, False, ()), memory, wanted, frozenset())
    for found, expected in zip(view.warnings, warnings, strict=True):
        assert expected in found
