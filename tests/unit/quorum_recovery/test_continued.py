# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run was killed, and time has passed: when the next run goes on, and when it must not."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Endpoint
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import ApplyError, apply
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.journal import (
    RecoveryStep,
    read_pending,
    write_pending,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.look import look
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import (
    parse_plan,
    plan_results,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import with_digest
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.restore import (
    pending_restoration,
    restore,
)
from unit.quorum_recovery.disks import VOTERS, Disk, a_plan, locked_by_another_process, topic_record

_FIVE = (101, 102, 103, 104, 105)
_GIVE_UP = "to give the recovery up instead, run again with quorum_recovery_restore_backup"
_BOTH_KINDS = pytest.mark.parametrize("dynamic", [True, False], ids=["dynamic", "static"])


class Begun:
    """A recovery whose run was killed after the change, before the survivor was started."""

    def __init__(self, directory: Path, *others: Disk, dynamic: bool = True, voters: Sequence[int] = VOTERS) -> None:
        self._directory, self._dynamic, self._voters = directory, dynamic, voters
        self.disk = self.old_disk(101).add(topic_record("a"))
        self._before = self.disk.files()
        kept = [self.old_disk(each).add(topic_record("a")) for each in voters if each == 104]
        self.plan = a_plan(self.disk, *kept, *others, lost=[each for each in voters if each not in (101, 104)])
        apply(self.plan, self.disk.host, str(directory / "backup"))
        self.kept = kept

    def old_disk(self, node_id: int) -> Disk:
        return Disk(self._directory, node_id, dynamic=self._dynamic, voters=self._voters)

    def killed_before_the_change(self) -> Begun:
        """Put everything back but the journal."""
        pending = read_pending(str(self.disk.log_dir))
        assert pending is not None
        for path, content in self._before.items():
            Path(path).write_bytes(content)
        write_pending(str(self.disk.log_dir), pending.at(RecoveryStep.CHANGING))
        return self

    def has_led(self, *records: bytes) -> Begun:
        """Append what the survivor writes when it leads with its new voters."""
        self.disk.end_offset = self.plan.changed_end_offset
        self.disk.add(*(records or (topic_record("since"),)), epoch=self.plan.new_epoch + 1)
        return self

    def run(self, *others: Disk, running: Sequence[Disk] = (), **changes: Any) -> dict[str, Any]:
        """Return what the next run decides, from the survivor's host and these."""
        with ExitStack() as stack:
            for each in running:
                stack.enter_context(locked_by_another_process(each.log_dir))
            looks = [looked(each) for each in (self.disk, *others)]
        looks[0]["answering"] = changes.pop("answering", {})
        nothing = dict.fromkeys(("plan_file", "output_file", "outcome", "report_file"))
        params = nothing | {"lost_voters": [*self.plan.lost_voters], "answered_by_others": [], "unread": {}}
        return plan_results({**params, "logs": looks, "report_later": False, **changes}, check_mode=False)


def looked(disk: Disk) -> dict[str, Any]:
    """Return what the look at a host returns, but for who answers."""
    found = look({"host": disk.host, "properties": str(disk.properties), "log_dir": None, "lacking": None})
    return found | {"answering": {}}


@_BOTH_KINDS
def test_the_next_run_goes_on(tmp_path: Path, *, dynamic: bool) -> None:
    begun = Begun(tmp_path, dynamic=dynamic)
    for _each in range(2):
        found = begun.run()
        assert (found["is_pending"], found["refusals"], found["must_stop"], found["absent"]) == (True, [], [], [])
        assert found["plan"]["digest"] == begun.plan.digest
        begun.killed_before_the_change()


@_BOTH_KINDS
@pytest.mark.parametrize("is_changed", [True, False])
def test_a_lost_voter_that_answers_again_is_to_be_stopped(tmp_path: Path, *, dynamic: bool, is_changed: bool) -> None:
    """It may lead with its old voters, and the survivor would be a second quorum."""
    begun = Begun(tmp_path, dynamic=dynamic)
    if not is_changed:
        begun.killed_before_the_change()
    (refusal,) = begun.run(answering={"103": "c103:9093"})["refusals"]
    assert refusal.startswith("voter 103 answers at c103:9093: stop it, because it may lead with its old voters")
    assert _GIVE_UP in refusal


def test_the_operator_says_that_another_program_answers(tmp_path: Path) -> None:
    found = Begun(tmp_path).run(answering={"103": "c103:9093"}, answered_by_others=[103])
    assert found["refusals"] == []
    assert "Note: c103:9093 answers. It is not voter 103, as quorum_recovery_answered_by_others says" in found["text"]


def test_a_changed_log_does_not_name_its_old_voters_and_they_are_asked_all_the_same(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    pending = read_pending(str(begun.disk.log_dir))
    assert pending is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = (Endpoint("CONTROLLER", "127.0.0.1", server.getsockname()[1]),)
        old = tuple(replace(each, endpoints=where if each.voter_id == 102 else ()) for each in begun.plan.old_voters)
        plan = with_digest(replace(begun.plan, old_voters=old))
        write_pending(str(begun.disk.log_dir), replace(pending, plan=plan))
        found = look({"host": "x", "properties": str(begun.disk.properties), "log_dir": None, "lacking": None})
        assert found["answering"] == {"102": f"127.0.0.1:{where[0].port}"}


def test_a_lost_voter_that_runs_on_a_host_of_the_run(tmp_path: Path) -> None:
    begun = Begun(tmp_path, voters=_FIVE)
    back = begun.old_disk(102)
    (refusal,) = begun.run(back, running=[back])["refusals"]
    assert refusal.startswith("voter 102 runs on node102")
    assert _GIVE_UP in refusal


def test_another_controller_with_a_whole_disk_must_be_stopped(tmp_path: Path) -> None:
    begun = Begun(tmp_path, voters=_FIVE)
    found = begun.run(*begun.kept, running=begun.kept)
    assert (found["refusals"], found["must_stop"]) == ([], ["controller 104 on node104"])
    assert begun.run(answering={"104": "c104:9093"})["must_stop"] == ["controller 104, which answers at c104:9093"]


def test_a_survivor_that_runs_before_its_change_is_complete_must_be_stopped(tmp_path: Path) -> None:
    begun = Begun(tmp_path).killed_before_the_change()
    assert begun.run(running=[begun.disk])["must_stop"] == ["controller 101 on node101"]


def test_a_majority_whose_disks_are_back_is_to_be_started(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    (refusal,) = begun.run(begun.old_disk(102))["refusals"]
    assert refusal.startswith("the disks of controllers 101 and 102 are whole, and 2 of 3 voters are a majority")
    assert "quorum_recovery_restore_backup" in refusal


def test_controllers_that_were_added_to_the_recovered_quorum_may_run(tmp_path: Path) -> None:
    """The run goes on to verify, whether the survivor runs or was killed again."""
    begun = Begun(tmp_path).has_led()
    new = Disk(tmp_path / "new", 102)
    (new.log_dir / "meta.properties").write_text(
        (new.log_dir / "meta.properties").read_text("utf-8").replace("directory.id=A", "directory.id=B"), "utf-8"
    )
    for running in ([begun.disk, new], [new]):
        found = begun.run(new, running=running, answering={"102": "c102:9093"})
        assert (found["is_pending"], found["refusals"], found["must_stop"]) == (True, [], [])


def test_an_old_voter_beside_a_running_survivor_is_named(tmp_path: Path) -> None:
    begun = Begun(tmp_path).has_led()
    found = begun.run(running=[begun.disk], answering={"102": "c102:9093"})
    assert found["refusals"] == []
    assert any("voter 102 answers at c102:9093. If it runs with its old disk, stop it" in x for x in found["text"])


@_BOTH_KINDS
def test_what_the_survivor_read_with_its_old_voters_is_kept(tmp_path: Path, *, dynamic: bool) -> None:
    """The old voters came back, and its service started it: the backup lacks what it has read since."""
    begun = Begun(tmp_path, dynamic=dynamic).killed_before_the_change()
    begun.disk.add(topic_record("since"), epoch=7)
    (refusal,) = begun.run()["refusals"]
    assert "was started with its old voters after the killed run" in refusal
    before = {path: each for path, each in begun.disk.files().items() if not path.endswith(("-quorum.json", ".lock"))}
    with pytest.raises(ApplyError, match="was started with its old voters"):
        apply(begun.plan, begun.disk.host, None)
    assert len(pending_restoration(begun.plan, begun.disk.host)) == 1
    restore(begun.plan, begun.disk.host)
    assert {path: each for path, each in begun.disk.files().items() if not path.endswith(".lock")} == before


@_BOTH_KINDS
def test_another_loss_after_others_were_added_is_planned_anew(tmp_path: Path, *, dynamic: bool) -> None:
    """The recovery was never verified, so its journal is still there."""
    begun = Begun(tmp_path, dynamic=dynamic).has_led()
    begun.disk.add_voters(VOTERS)
    alone, all_of_them = "101@c101.invalid:9093", ",".join(f"{each}@c{each}.invalid:9093" for each in VOTERS)
    text = begun.disk.properties.read_text("utf-8")
    begun.disk.properties.write_text(text.replace(alone, all_of_them, 1), encoding="utf-8")
    found = begun.run()
    assert (found["is_pending"], found["refusals"]) == (False, [])
    plan = parse_plan(found["plan"])
    assert plan.replaces == begun.plan.digest
    backup = apply(plan, begun.disk.host, str(tmp_path / "backup"))
    assert plan.digest[7:19] in backup
    pending = read_pending(str(begun.disk.log_dir))
    assert pending is not None
    assert pending.plan == plan
    assert begun.run(running=[begun.disk])["is_pending"]


def test_a_host_that_has_another_name_now(tmp_path: Path) -> None:
    begun = Begun(tmp_path)
    begun.disk.host = "controller1.example.com"
    (absent,) = begun.run()["absent"]
    assert absent.startswith("the journal on controller1.example.com (")
    assert "was begun as node101: give the host that name in the inventory" in absent


def test_hosts_that_the_plan_changes_are_missing(tmp_path: Path) -> None:
    broker = Disk(tmp_path, 1, dynamic=False, role="broker")
    begun = Begun(tmp_path, broker, dynamic=False)
    (absent,) = begun.run()["absent"]
    assert absent.startswith("the recovery that was begun changes node1 too, and this run lacks it")
    (absent,) = begun.run(unread={"node1": "no route to host"})["absent"]
    assert absent.endswith("changes node1 too, and it could not be read: no route to host")
    assert begun.run(broker)["absent"] == []


def test_a_plan_that_must_not_go_on_is_in_no_file(tmp_path: Path) -> None:
    begun, file = Begun(tmp_path), tmp_path / "plan.json"
    found = begun.run(answering={"103": "c103:9093"}, output_file=str(file))
    assert (found["changed"], file.exists()) == (False, False)
    assert parse_plan(found["plan"]) == begun.plan, "it can be undone"


@_BOTH_KINDS
@pytest.mark.parametrize("is_changed", [True, False])
def test_a_copy_that_went_on_since_ends_the_recovery(tmp_path: Path, *, dynamic: bool, is_changed: bool) -> None:
    """Old voters led, and are lost again, or the first run lacked a host: its records are in no plan."""
    begun = Begun(tmp_path, dynamic=dynamic)
    if not is_changed:
        begun.killed_before_the_change()
    broker = Disk(tmp_path, 1, dynamic=dynamic, role="broker").add(topic_record("a"), topic_record("b"), epoch=7)
    (refusal,) = begun.run(broker)["refusals"]
    assert refusal.startswith(
        "node 1 on node1 has records of epoch 7, and when the recovery was planned, none was above 3"
    )
    assert _GIVE_UP in refusal
    if is_changed:  # it leads: nothing more is to be changed
        assert begun.has_led().run(broker)["refusals"] == []


def test_a_broker_with_the_id_of_a_voter_hides_no_controller(tmp_path: Path) -> None:
    begun = Begun(tmp_path, voters=_FIVE)
    brokers = [Disk(tmp_path / "brokers", each, role="broker").add(topic_record("a")) for each in (102, 104)]
    answering = {"102": "c102:9093", "104": "c104:9093"}
    found = begun.run(*brokers, running=brokers, answering=answering)
    assert found["must_stop"] == ["controller 104, which answers at c104:9093"]
    (refusal,) = found["refusals"]
    assert refusal.startswith("voter 102 answers at c102:9093")
