# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which playbooks need confluent-kafka: what readiness says is what their modules need."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import (
    PLAYBOOKS_WITH_BOTH_KAFKA_CLIENTS,
)

_ROOT = Path(__file__).parents[3]


def _names(pattern: str, text: str) -> set[str]:
    return {*re.findall(pattern, text)}


def test_the_playbooks_are_those_whose_roles_use_a_module_with_both_clients() -> None:
    modules = {
        each.stem for each in (_ROOT / "plugins/modules").glob("*.py") if "BOTH_KAFKA_CLIENTS" in each.read_text()
    }
    roles = {
        each.name
        for each in (_ROOT / "roles").iterdir()
        if modules & _names(r"kafkaops\.recovery\.(\w+):", "".join(f.read_text("utf-8") for f in each.rglob("tasks/*")))
    }
    playbooks = {
        each.stem
        for each in (_ROOT / "playbooks").glob("*.yml")
        if (roles | modules) & _names(r"kafkaops\.recovery\.(\w+)", each.read_text())
    }
    assert modules
    assert playbooks == {*PLAYBOOKS_WITH_BOTH_KAFKA_CLIENTS}
