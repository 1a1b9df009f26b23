# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A variable of a printed command has its value after a person has pasted it and Ansible has read it."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable


def read(pasted: str) -> Any:
    """Return the variables of a pasted -e, as ansible-playbook reads them."""
    _flag, word = shlex.split(pasted)
    return DataLoader().load(word) if word.startswith("{") else parse_kv(word)


@pytest.mark.parametrize(
    "value",
    [
        "plan.json",
        "/srv/an incident/plan.json",
        "/srv/it's/plan.json",
        '/srv/"quoted"/plan.json',
        "back\\slash",
        "a=b",
        "http://{host}:7071/metrics",
        "tab\there",
        "line\nbreak",
        "größe",
        "$HOME",
        "kafka1:9092,kafka2:9092",
        ["a b", "c"],
        {"topic": "orders", "partitions": [0, 1]},
    ],
)
def test_a_value_survives(value: object) -> None:
    assert read(shlex.join(set_variable("name", value))) == {"name": value}


def test_a_time_of_a_file_of_variables_is_a_text() -> None:
    booted = datetime(2026, 1, 31, 2, tzinfo=UTC)
    assert read(shlex.join(set_variable("name", {3: booted}))) == {"name": {"3": "2026-01-31 02:00:00+00:00"}}


def test_numbers_and_truth_are_words() -> None:
    assert set_variable("limit", 0) == ("-e", "limit=0")
    assert set_variable("elect", value=True) == ("-e", "elect=true")
