# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action prints what a tired reader needs first at the top."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.action.recovery_tables import ActionModule
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from unit.plugin_utils.results import a_recovery, an_advice
from unit.recovery import outages


@pytest.mark.parametrize("tables", [["replicas", "outcomes"], ["outcomes", "replicas"]])
def test_the_verdict_is_first_and_tables_are_last(tables: list[str]) -> None:
    action = ActionModule(None, None, None, None, None, None)
    arguments = {
        "result": a_recovery(outages.fourteen(), outages.brokers()),
        "tables": tables,
        "start_order": [an_advice(1, 2)],
        "awaited": [],
        "variables": {"kafka_bootstrap_servers": "kafka2:9092"},
        "warning": "",
    }
    text = rendered(action.blocks(arguments), 120, color=False)
    assert text.startswith("12 of 14 partitions recovered")
    places = [text.index(f"\n{each}") for each in ("Next\n", "Brokers: ", "Partitions\n", "What each replica holds")]
    assert places == sorted(places)
