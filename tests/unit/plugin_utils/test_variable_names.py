# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages name what the user typed: variables of the role, not options of the module."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.variable_names import name_variables, variables_of
from unit.roles.role import ROLES, options

EVERY_ROLE = sorted({each.name for each in ROLES.iterdir()} - {"kafka_connection"})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ssl_cafile /x cannot be read", "kafka_ssl_cafile /x cannot be read"),
        ("lost_brokers names broker 1", "unclean_recovery_lost_brokers names broker 1"),
        ("recovery_wait_ms must be 0 or greater", "unclean_recovery_wait_ms must be 0 or greater"),
        (
            "set journal_topic (in a role: kafka_journal_topic) to another one",
            "set kafka_journal_topic to another one",
        ),
        ("or set ignore_quorum (of a role: its variable that ends so).", "or set unclean_recovery_ignore_quorum."),
        (
            "accept that by unclean_recovery_allow_empty_leader (allow_empty_leader)",
            "accept that by unclean_recovery_allow_empty_leader",
        ),
        # What is no option of the role, or part of something else, stays.
        ("unclean_recovery_lost_brokers names 1", "unclean_recovery_lost_brokers names 1"),
        (
            "/srv/plan_file/x and plan_file.json and my-plan_file",
            "/srv/plan_file/x and plan_file.json and my-plan_file",
        ),
        ("the strategy balanced waits", "the strategy balanced waits"),
        ("partitions is refused: it is empty", "unclean_recovery_partitions is refused: it is empty"),
        ("partitions is refused at /0: it is", "unclean_recovery_partitions is refused at /0: it is"),
        ("partitions is empty: leave it out", "unclean_recovery_partitions is empty: leave it out"),
        (
            "salvage is x\npartitions is empty: leave it out",
            "salvage is x\nunclean_recovery_partitions is empty: leave it out",
        ),
        ("some of the partitions is refused: it", "some of the partitions is refused: it"),
        ("min_isr and max_moves", "min_isr and max_moves"),
    ],
)
def test_texts(text: str, named: str) -> None:
    result = {"failed": True, "msg": text, "partitions": [{"topic": "lost_brokers", "reason": text, "loss": None}]}
    assert name_variables(result, variables_of("unclean_recovery")) == {
        "failed": True,
        "msg": named,
        "partitions": [{"topic": "lost_brokers", "reason": named, "loss": None}],
    }


@dataclass(frozen=True)
class FakeEvent:
    """What ansible-core has of a warning from 2.19 on: more than its text."""

    msg: str
    help_text: str | None = None


@dataclass(frozen=True, kw_only=True)
class FakeSummary:
    event: FakeEvent


def test_a_warning_names_what_the_user_typed_on_every_ansible_core() -> None:
    names = {"lost_brokers": "unclean_recovery_lost_brokers"}
    text, named = "lost_brokers names broker 1", "unclean_recovery_lost_brokers names broker 1"
    result = {"warnings": [FakeSummary(event=FakeEvent(text)), text], "exception": FakeSummary(event=FakeEvent(text))}
    assert name_variables(result, names) == {
        "warnings": [FakeSummary(event=FakeEvent(named)), named],
        "exception": result["exception"],
    }


_PROSE = {"reason", "cause", "found", "meaning", "remedy", "text", "explanation", "loss", "msg"}
"""Fields of results that the printed pages show as prose."""


@pytest.mark.parametrize("field", sorted(_PROSE | {"changes", "notes", "reasons", "unidentified_marks"}))
def test_every_printed_field_names_what_the_user_typed(field: str) -> None:
    typed = "set kafka_ssl_cafile or stop_gate_ignore_quorum"
    names = {"ssl_cafile": "kafka_ssl_cafile", "ignore_quorum": "stop_gate_ignore_quorum"}
    one, several = "set ssl_cafile or ignore_quorum", ["set ssl_cafile or ignore_quorum"]
    result = {"stops": [{field: one}, {field: several}]}
    assert name_variables(result, names) == {"stops": [{field: typed}, {field: [typed]}]}


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_every_name_is_a_variable_that_the_role_takes(role: str) -> None:
    assert {*variables_of(role).values()} <= {*options(role)}
