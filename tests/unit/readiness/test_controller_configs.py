# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configs that brokers and controllers take from their own properties."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.controller_configs import (
    judge_brokers,
    judge_controllers,
)


@pytest.mark.parametrize(
    ("inherited", "values", "unknown", "found"),
    [
        ({}, {}, "no listener is named", []),
        ({"a": "2"}, {101: "2", 102: "2"}, "", []),
        ({"a": "2"}, {101: "2", 102: "1"}, "", ["2 by the brokers' properties, and 1 on controller 102"]),
        ({"a": "1", "b": "2"}, {101: "2"}, "", ["1 or 2 by the brokers' properties, and 2 on controller 101"]),
        ({"a": "2"}, {101: "2"}, "controller 102: hung", ["is unknown (controller 102: hung)"]),
        ({"a": "2"}, {}, "", ["is unknown (no controller answered)"]),
        ({"a": None}, {101: "2"}, "", ["is unknown by the brokers' properties"]),
    ],
)
def test_what_a_controller_decides_otherwise_or_unknown_is_a_warning(
    inherited: dict[str, str | None], values: dict[int, str | None], unknown: str, found: list[str]
) -> None:
    checks = [*judge_controllers(MIN_ISR, inherited, values, unknown)]
    assert len(checks) == len(found)
    for check, part in zip(checks, found, strict=True):
        assert part in check.found


def test_brokers_that_differ_are_named_with_their_values() -> None:
    (check,) = judge_brokers(["orders"], {1: 2, 2: 2, 3: 1, 4: None})
    assert check.found.startswith(
        "min.insync.replicas of topic orders is that of the broker that leads: 1 on broker 3; "
    )
    assert "; 2 on brokers 1, 2." in check.found
    assert [*judge_brokers(["orders"], {1: 2, 2: 2, 3: None}), *judge_brokers([], {})] == []
