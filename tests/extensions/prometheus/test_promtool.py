# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prometheus's own tool checks the rules: they are valid, and fire exactly when they must."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from extensions.monitoring import EXTENSIONS, check_prerequisites


@pytest.mark.parametrize(
    "command",
    [
        ("check", "rules", EXTENSIONS / "prometheus" / "kafka_recovery.rules.yml"),
        ("test", "rules", Path(__file__).with_name("kafka_recovery.test.yml")),
    ],
    ids=["check", "test"],
)
def test_promtool(command: tuple[str | Path, ...]) -> None:
    check_prerequisites()
    ran = subprocess.run(["promtool", *command], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "SUCCESS" in ran.stdout
