# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A recovery over SASL and TLS, as loud as Ansible can be, with no secret in anything it leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.loud import LOUD, holds_none, keep_below
from lab import Cluster, scenarios
from lab.playbook import statuses
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version

_PASSWORD = "p4ss-w0rd-of-al1ce"


def test_scram_over_tls_leaves_no_secret(kafka_version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_below(tmp_path / "temporary", monkeypatch)
    with Cluster(kafka_version, listeners=("SASL_SSL",), users={"alice": _PASSWORD}) as cluster:
        offline = scenarios.diverged(cluster, "secret")
        recovery = Recovery(cluster, tmp_path)
        connection = {
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": "SCRAM-SHA-512",
            "kafka_sasl_username": "alice",
            "kafka_ssl_cafile": str(cluster.certificates.ca),
        }
        # On the command line Ansible itself would show it; operators keep it in a vault file.
        secrets = tmp_path / "secrets.yml"
        secrets.write_text(f"kafka_sasl_password: {_PASSWORD}\n")
        loud = (*LOUD, "-e", f"@{secrets}")
        evidence = tmp_path / "evidence"
        plan = tmp_path / "plan.json"
        planned = recovery.run(
            *loud,
            **connection,
            unclean_recovery_all_offline_partitions=True,
            unclean_recovery_show_replica_info=True,
            unclean_recovery_manual_output_file=str(plan),
            unclean_recovery_evidence_dir=str(evidence),
            # Spark's tasks get the settings another way, and Spark writes files of its own.
            unclean_recovery_spark={"master": "local[2]"},
        )
        assert planned.returncode == 0, planned.output
        done = recovery.carry_out(plan, *loud, **connection)
        assert done.returncode == 0, done.output
        assert statuses(recovery.report) == [("secret", 0, "recovered")]
        assert cluster.client.describe("secret", broker=offline.best)[0].leader == offline.best

        wrong = tmp_path / "wrong.yml"
        wrong.write_text(f"kafka_sasl_password: not-{_PASSWORD}\n")
        refused = recovery.recover(*LOUD, "-e", f"@{wrong}", **connection)
        assert refused.returncode != 0
        assert "check the credentials for SCRAM-SHA-512" in refused.output

    # What the lab wrote itself; all else in this directory is what the runs left there, for good or for a moment.
    for each in secrets, wrong:
        each.unlink()
    assert plan.exists()
    assert any(evidence.iterdir())
    for run in (planned, done, refused):
        holds_none(run, tmp_path, [_PASSWORD.encode()])
