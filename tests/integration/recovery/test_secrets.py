# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks with passwords and Ansible's highest verbosity: no secret is in their output or in any file.

Not where they end by themselves, and not where SIGKILL ends the module, or ansible-playbook with all that it started.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from integration.loud import LOUD, holds_none, keep_below, left_none
from lab import Cluster, scenarios
from lab.cleaner import CleanerCluster
from lab.faults import Before
from lab.health import heal
from lab.playbook import RECOVER, Part, part_of_playbook, signal_tree, start_playbook, statuses
from lab.pool import ClusterPool, Specification
from lab.proxy import Proxy
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version

_PASSWORD = "p4ss-w0rd-of-al1ce"
_METRICS_PASSWORD = "p4ss-w0rd-of-the-metr1cs"


def test_scram_over_tls_leaves_no_secret(kafka_version: str, tmp_path: Path) -> None:
    with (
        Cluster(kafka_version, listeners=("SASL_SSL",), users={"alice": _PASSWORD}) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        keep_below(tmp_path / "kept", patch)
        offline = scenarios.diverged(cluster, "secret")
        recovery = Recovery(cluster, tmp_path)
        connection = {
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": "SCRAM-SHA-512",
            "kafka_sasl_username": "alice",
            "kafka_ssl_cafile": str(cluster.certificates.ca),
        }
        # Ansible itself would print a password on the command line; operators keep it in a vault file.
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

    # Files of the lab itself; the runs wrote all other files in this directory.
    for each in secrets, wrong:
        each.unlink()
    assert plan.exists()
    assert any(evidence.iterdir())
    for run in (planned, done, refused):
        holds_none(run, tmp_path, [_PASSWORD.encode()])


def _with_password(version: str) -> Cluster:
    return Cluster(version, listeners=("SASL_PLAINTEXT",), users={"alice": _PASSWORD}, proxied=True)


_SASL: Specification[Cluster] = Specification("with a password", _with_password, heal)
_CONNECTION = {
    "kafka_security_protocol": "SASL_PLAINTEXT",
    "kafka_sasl_mechanism": "SCRAM-SHA-512",
    "kafka_sasl_username": "alice",
    "kafka_request_timeout_ms": 10_000,
}
_WHO = [
    pytest.param(None, id="all that the playbook started"),
    # Ansible removes the file afterwards.
    pytest.param(Part.MODULE, id="the module", marks=pytest.mark.wide),
]


def _killed(  # noqa: PLR0917
    proxy: Proxy, api_key: ApiKey, who: Part | None, playbook: str, variables: Mapping[str, Any], directory: Path
) -> None:
    """Run a playbook, kill a part or all of it before such a request, and search the remaining files."""
    secrets = directory / "secrets.yml"
    secrets.write_text(
        f"kafka_sasl_password: {_PASSWORD}\nlog_cleaner_recovery_metrics_password: {_METRICS_PASSWORD}\n",
        encoding="utf-8",
    )
    kept = directory / "kept"
    with pytest.MonkeyPatch.context() as patch:
        keep_below(kept, patch)
        process = start_playbook(playbook, {**_CONNECTION, **variables}, *LOUD, "-e", f"@{secrets}")

    def kill() -> None:
        if who is None:
            signal_tree(process.pid, signal.SIGKILL)
        else:
            os.kill(part_of_playbook(process.pid, who), signal.SIGKILL)

    with proxy.inject(Before(kill), api_key=api_key, times=1) as rule:
        output, _errors = process.communicate(timeout=180)
    assert rule.hits, output
    assert process.returncode == (-signal.SIGKILL if who is None else 2), output
    secrets.unlink()
    for each in (_PASSWORD, _METRICS_PASSWORD):
        assert each not in output
    left_none(directory, [_PASSWORD.encode(), _METRICS_PASSWORD.encode()])


@pytest.mark.wide
@pytest.mark.parametrize("who", _WHO)
@pytest.mark.parametrize(
    ("api_key", "more"),
    [
        # Spark's tasks get the settings another way, and Spark writes files of its own.
        pytest.param(ApiKey.ListOffsets, {"unclean_recovery_spark": {"master": "local[2]"}}, id="gathers on Spark"),
        pytest.param(ApiKey.ElectLeaders, {}, id="elects"),
    ],
)
def test_a_recovery_that_is_killed_leaves_no_secret(  # noqa: PLR0917
    clusters: ClusterPool,
    kafka_version: str,
    tmp_path: Path,
    api_key: ApiKey,
    more: Mapping[str, object],
    who: Part | None,
) -> None:
    with clusters.lease(_SASL, kafka_version) as cluster:
        scenarios.diverged(cluster, "secret")
        variables = Recovery(cluster, tmp_path).variables(
            unclean_recovery_all_offline_partitions=True, unclean_recovery_automated_recovery=True, **more
        )
        _killed(cluster.proxy, api_key, who, RECOVER, variables, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("who", _WHO)
def test_a_drain_that_is_killed_leaves_no_secret(
    clusters: ClusterPool, kafka_version: str, tmp_path: Path, who: Part | None
) -> None:
    with clusters.lease(_SASL, kafka_version) as cluster:
        cluster.client.create_topic("secret", {0: (1, 2, 3)})
        variables = {"kafka_bootstrap_servers": cluster.bootstrap(), "leadership_drain_brokers": [1]}
        playbook = "kafkaops.recovery.drain_leadership"
        _killed(cluster.proxy, ApiKey.AlterPartitionReassignments, who, playbook, variables, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("who", _WHO)
def test_a_repair_that_is_killed_leaves_no_secret(kafka_version: str, tmp_path: Path, who: Part | None) -> None:
    with CleanerCluster(kafka_version, listeners=("SASL_PLAINTEXT",), users={"alice": _PASSWORD}) as lab:
        lab.damaged("secret", (1, 2, 3), 3)
        variables = {
            "kafka_bootstrap_servers": lab.cluster.bootstrap(),
            "log_cleaner_recovery_metrics_source": "prometheus",
            "log_cleaner_recovery_metrics_url": lab.prometheus_url,
            "log_cleaner_recovery_metrics_username": "metrics",
            "log_cleaner_recovery_metrics_timeout_ms": 30_000,
            "log_cleaner_recovery_repair_uncleanable": True,
            "log_cleaner_recovery_suspect_bytes": 500_000,
        }
        playbook = "kafkaops.recovery.recover_log_cleaners"
        _killed(lab.proxy, ApiKey.AlterPartitionReassignments, who, playbook, variables, tmp_path)
