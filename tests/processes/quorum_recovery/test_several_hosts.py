# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A recovery of static voters changes several hosts, and one of them fails. No Kafka runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lab.playbook import PlaybookRun, run_playbook
from unit.quorum_recovery.disks import VOTERS, Disk, topic_record


class Site:
    """Three controllers, of which only the first one has its disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.disks = [Disk(directory, each, dynamic=False).add(topic_record("a")) for each in VOTERS]
        for each in self.disks[1:]:
            shutil.rmtree(each.log_dir)
        self.started = directory / "started"
        self.backups = directory / "backups"
        self.hosts = {
            each.host: {
                "ansible_connection": "local",
                "quorum_recovery_properties": str(each.properties),
                "quorum_recovery_backup_dir": str(self.backups),
            }
            for each in self.disks
        }

    def properties(self) -> list[str]:
        return [each.properties.read_text("utf-8") for each in self.disks]

    def recover(self) -> PlaybookRun:
        inventory = self._directory / "inventory.json"
        controllers: dict[str, object] = {each: {} for each in self.hosts}
        groups = {"kafka_controllers": {"hosts": controllers}}
        inventory.write_text(json.dumps({"all": {"hosts": self.hosts, "children": groups}}), encoding="utf-8")
        variables = {
            "quorum_recovery_lost_voters": [*VOTERS[1:]],
            "quorum_recovery_automated_recovery": True,
            "quorum_recovery_start_command": f"touch {self.started}",
            "quorum_recovery_verify_timeout_ms": 1,
        }
        return run_playbook("kafkaops.recovery.recover_quorum", variables, "-i", str(inventory))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_without_a_journal_no_other_host_is_changed(site: Site) -> None:
    """Only the journal on the host of the survivor undoes what is changed on the others."""
    survivor = site.disks[0]
    site.hosts[survivor.host]["quorum_recovery_backup_dir"] = f"{survivor.log_dir}/backup"
    before = site.properties()
    run = site.recover()
    assert "quorum_recovery_backup_dir:" in run.words, run.output
    assert run.returncode != 0
    assert site.properties() == before


def test_the_host_of_a_lost_voter_that_is_away(site: Site) -> None:
    site.hosts[site.disks[-1].host] |= {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": "1"}
    run = site.recover()
    assert "node103: nothing could be read:" in run.words, run.output
    assert site.started.exists()


def test_a_host_that_is_away_before_it_is_changed(site: Site) -> None:
    last = site.disks[-1]
    away = {"ansible_host": "127.0.0.1", "ansible_port": "1"}
    away["ansible_connection"] = "{{ 'ssh' if __quorum_recovery_plan is defined else 'local' }}"
    site.hosts[last.host] |= away
    before = site.properties()
    run = site.recover()
    assert run.returncode != 0, run.output
    assert "unreachable=1" in run.output
    assert not site.started.exists()
    assert [now == old for now, old in zip(site.properties(), before, strict=True)] == [False, False, True]


def test_a_survivor_that_is_away_before_it_is_started(site: Site) -> None:
    survivor = site.disks[0].host
    away = {"ansible_host": "127.0.0.1", "ansible_port": "1"}
    away["ansible_connection"] = "{{ 'ssh' if __quorum_recovery_applied is defined else 'local' }}"
    site.hosts[survivor] |= away
    run = site.recover()
    assert run.returncode != 0, run.output
    assert "unreachable=1" in run.output


def test_one_directory_has_the_backups_of_all_hosts(site: Site) -> None:
    """Such as one of NFS. The files of all hosts have the same name."""
    before = site.properties()
    run = site.recover()
    assert site.started.exists(), run.output
    assert site.properties() != before
    kept = [each.read_text("utf-8") for each in sorted(site.backups.rglob("*server.properties*")) if each.is_file()]
    assert kept == before
