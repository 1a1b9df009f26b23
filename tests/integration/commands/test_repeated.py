# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that a look prints acts where the look ran, connects as it did, and keeps every limit and guard."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from lab import Cluster, scenarios
from lab.playbook import RECOVER, typed
from lab.printed import printed_by

_SECRET = "kafka_sasl_password"


@pytest.mark.wide
def test_the_printed_command_runs_as_the_look_did(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "repeated")
    inventory = tmp_path / "our hosts"
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "hosts").write_text(f"bastion ansible_connection=local ansible_python_interpreter={sys.executable}\n")
    # YAML has types for the number and the time.
    booted = "unclean_recovery_host_boot_times: {3: 2026-01-31T02:00:00Z}"
    (inventory / "group_vars" / "all.yml").write_text(f"unclean_recovery_engine: process\n{booted}\n")
    controllers = [f"{each.host}:{each.port}" for each in cluster.controllers.values()]
    given = {
        "unclean_recovery_hosts": "bastion",
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "kafka_bootstrap_controllers": ",".join(controllers),
        "kafka_security_protocol": "PLAINTEXT",
        "kafka_journal_topic": "_our_runs",
        _SECRET: "not-to-print",
        "unclean_recovery_lost_brokers": "1",
        # Refused without the controllers.
        "unclean_recovery_proof": "accept",
        "unclean_recovery_salvage": "required",
        "unclean_recovery_salvage_dir": "saved records",
    }
    words = [word for name, value in given.items() for word in ("-e", json.dumps({name: value}))]
    look = typed(tmp_path, "ansible-playbook", RECOVER, "-i", "our hosts/hosts", *words)
    (command,) = [each for each in printed_by(look.output) if "automated_recovery" in each]
    for name, value in given.items():
        assert name in command, command
        assert (value in command) == (name != _SECRET), command
    assert '{"unclean_recovery_host_boot_times": {"3": "2026-01-31' in command, command

    done = typed(tmp_path, *shlex.split(command.replace("\\\n", "").replace("SASL_PASSWORD", "not-to-print")))
    assert done.returncode == 0, done.output
    assert "1 of 1 partition recovered" in done.words, done.output
    assert cluster.client.describe("repeated", broker=offline.best)[0].leader == offline.best
