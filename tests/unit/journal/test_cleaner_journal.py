# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be put back is on disk before anything is changed, and is read back as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    ReplicaChange,
    SettingChange,
    open_cleaner_journal,
    read_unfinished,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.file_journal import open_journal
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import JournalError

UNSET = SettingChange("broker", "3", "log.cleaner.backoff.ms", None, "15001")
SET = SettingChange("topic", "t", "follower.replication.throttled.replicas", "0:1", "0:3")
REPLICA = ReplicaChange("t", 0, "id", 3, (3, 1, 2), 1, 3)
CLUSTER = "4L6g3nShT-eMCtK--X86sw"


def test_what_is_begun_is_read_back_replicas_first(tmp_path: Path) -> None:
    directory = str(tmp_path)
    assert read_unfinished(directory, CLUSTER) == ()
    with open_cleaner_journal(directory, CLUSTER) as journal:
        for change in (UNSET, SET, REPLICA):
            journal.begin(change)
    assert read_unfinished(directory, CLUSTER) == (REPLICA, UNSET, SET)
    with open_cleaner_journal(directory, CLUSTER) as journal:
        journal.end(UNSET, "restored")
        assert journal.unfinished == (REPLICA, SET)
    assert read_unfinished(directory, CLUSTER) == (REPLICA, SET)


def test_a_torn_last_line_is_no_damage_and_a_bad_one_before_it_is(tmp_path: Path) -> None:
    directory = str(tmp_path)
    with open_cleaner_journal(directory, CLUSTER) as journal:
        journal.begin(UNSET)
        journal.begin(SET)
    path = tmp_path / f"{CLUSTER}.cleaner"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert read_unfinished(directory, CLUSTER) == (UNSET,)
    path.write_bytes(whole.replace(b"15001", b"15002"))
    with pytest.raises(JournalError, match="line 1"):
        read_unfinished(directory, CLUSTER)


def test_two_runs_do_not_meet_elections_included(tmp_path: Path) -> None:
    with (
        open_journal(str(tmp_path), CLUSTER),
        pytest.raises(JournalError, match="in progress"),
        open_cleaner_journal(str(tmp_path), CLUSTER),
    ):
        pass


def test_the_orders_on_the_way() -> None:
    assert REPLICA.source_first == (1, 3, 2)
    assert REPLICA.without_it == (1, 2)


def test_the_first_original_is_kept_until_it_is_back(tmp_path: Path) -> None:
    """A run that could not put it back, and one that took our own value for the original."""
    directory = str(tmp_path)
    with open_cleaner_journal(directory, CLUSTER) as journal:
        journal.begin(UNSET)
    with open_cleaner_journal(directory, CLUSTER) as journal:
        again = journal.begin(replace(UNSET, original="15001", changed="15002"))
        assert again == replace(UNSET, changed="15002")
        assert journal.unfinished == (again,)
    assert read_unfinished(directory, CLUSTER) == (again,)


def test_what_somebody_else_has_set_meanwhile_is_an_original(tmp_path: Path) -> None:
    theirs = replace(UNSET, original="900", changed="901")
    with open_cleaner_journal(str(tmp_path), CLUSTER) as journal:
        journal.begin(UNSET)
        assert journal.begin(theirs) == theirs


def test_replicas_that_are_not_back_are_not_forgotten_over_others(tmp_path: Path) -> None:
    with open_cleaner_journal(str(tmp_path), CLUSTER) as journal:
        journal.begin(REPLICA)
        with pytest.raises(JournalError, match="t-0 is not put back yet"):
            journal.begin(replace(REPLICA, broker_id=2, original=(1, 2), source=1, leader=1))
        assert journal.unfinished == (REPLICA,)
