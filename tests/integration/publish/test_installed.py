# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tarball, installed in an empty environment with the one requirements file that it names, works."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab import Cluster
from publish import artifact, release
from publish.installation import installed

pytestmark = [pytest.mark.on_any_version, pytest.mark.timeout(900)]


@pytest.mark.wide
def test_check_quorum_from_the_tarball(kafka_version: str, tmp_path: Path) -> None:
    report = tmp_path / "quorum.json"
    # The interpreter that .venv was made with.
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    with installed(str(python)) as installation, Cluster(kafka_version, brokers=1) as cluster:
        variables = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "quorum_preflight_report_file": str(report),
            # A quorum of one controller is worth a warning.
            "quorum_preflight_fail_on": "critical",
        }
        ran = installation.run("kafkaops.recovery.check_quorum", variables)
        assert ran.returncode == 0, ran.output
    assert json.loads(report.read_text(encoding="utf-8"))["clusterId"] == cluster.cluster_id


@pytest.mark.wide
def test_tarball_and_git_address_install_the_same_files_offline(tmp_path: Path) -> None:
    """By command and by requirements.yml, as README shows."""
    release.check_installations(artifact.build(tmp_path), tmp_path)
