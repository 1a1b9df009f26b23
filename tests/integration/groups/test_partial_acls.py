# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A principal that may change some groups only: all that is missing is named, and these groups get their offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.groups.lost_tails import FIRST, ONLINE, commit, committed
from lab import Cluster, wait_until
from lab.playbook import run_playbook

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_JOURNAL = "_kafkaops_run"


def test_groups_or_topics_that_are_refused_block_no_others(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=2, listeners=("SASL_PLAINTEXT",), super_users=[], proxied=True) as cluster:
        client = cluster.client
        for topic in (ONLINE, FIRST):
            client.create_topic(topic, {0: [1]}, {"min.insync.replicas": 1})
            client.produce(topic, 0, 5)
            client.allow("alice", "DESCRIBE", topic=topic)
        for group in ("allowed", "told only"):
            commit(cluster, group, 100)
        commit(cluster, "also allowed", 100, topic=FIRST)
        for group in ("allowed", "also allowed"):
            client.allow("alice", "READ", group=group)
        client.allow("alice", "DESCRIBE", group="told only")
        client.allow("alice", "DESCRIBE")
        client.allow("alice", "ALL", topic="__consumer_offsets")
        client.allow("alice", "READ", topic=ONLINE)
        given: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap("SASL_PLAINTEXT"),
            "kafka_security_protocol": "SASL_PLAINTEXT",
            "kafka_sasl_mechanism": "SCRAM-SHA-256",
            "kafka_sasl_username": "alice",
            "kafka_sasl_password": "alice-secret",
        }
        go = {**given, "group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}

        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        for run in (look, run_playbook(_PLAYBOOK, go), run_playbook(_PLAYBOOK, go, "--check", "--diff")):
            assert run.returncode == 2, run.output
            for option in ("Read --group 'told only'", f"Read --topic {FIRST}", f"Delete --topic {_JOURNAL}"):
                assert f"--operation {option}" in run.words, run.output
            assert "Traceback" not in run.output
        assert cluster.proxy.write_requests() == []
        offsets = {each: committed(cluster, each) for each in ("allowed", "told only")}
        assert offsets == {"allowed": 100, "told only": 100}

        # Without the journal's topic, nothing can be written. Without the others, only these groups wait.
        client.allow("alice", "ALL", topic=_JOURNAL)
        checked = run_playbook(_PLAYBOOK, go, "--check", "--diff")
        assert checked.returncode == 2, checked.output
        assert "1 committed offset would be given back; 2 committed offsets not given back" in checked.words
        some = run_playbook(_PLAYBOOK, go)
        assert some.returncode == 2, some.output
        assert "1 committed offset given back; 2 committed offsets not given back" in some.words, some.output
        assert "told only at elsewhere-0: our principal needs READ on the group" in some.words, some.output
        assert f"also allowed at {FIRST}-0: our principal needs READ on the topic" in some.words
        for option in ("Read --group 'told only'", f"Read --topic {FIRST}"):
            assert f"--operation {option}" in some.words, some.output
        assert [committed(cluster, each) for each in ("allowed", "told only")] == [5, 100]
        # Nothing is left that it may do.
        refused = run_playbook(_PLAYBOOK, go)
        assert refused.returncode == 2, refused.output
        assert "nothing was written" in refused.words

        # A group and a topic that are hidden are named, or it is said that they may be missing.
        client.revoke("alice", "DESCRIBE", topic=FIRST)
        client.revoke("alice", "DESCRIBE", group="told only")
        hidden = run_playbook(_PLAYBOOK, given)
        assert hidden.returncode == 2, hidden.output
        assert f"topics that are hidden from us: {FIRST}" in hidden.words, hidden.output
        assert "told only our principal needs DESCRIBE on the group" in hidden.words or (
            "told only GROUP_AUTHORIZATION_FAILED" in hidden.words
        ), hidden.output
        client.allow("alice", "READ", group="told only")
        client.allow("alice", "READ", topic=FIRST)
        wait_until(lambda: run_playbook(_PLAYBOOK, go).returncode == 0, 60, what="all that is needed is granted")
        assert committed(cluster, "told only") == 5
