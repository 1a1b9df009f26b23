# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host without Java can recover partitions, so readiness warns and is not red."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.host import (
    check_disk_space,
    check_libraries,
)


def test_missing_java_is_a_warning_that_names_the_other_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    libraries, java = check_libraries(local_spark=True)
    assert (libraries.status.value, java.status.value) == ("ok", "warning")
    assert "is not a program" in java.found
    assert "unclean_recovery_engine to process" in java.remedy


def test_a_host_without_spark_is_not_checked_for_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert [each.status.value for each in check_libraries(local_spark=False)] == ["ok"]


def test_the_disk_of_this_host_says_nothing_about_another_file_system() -> None:
    check = check_disk_space("hdfs://namenode/evidence", "evidence", 1)
    assert (check.status.value, check.subject) == ("warning", "evidence in hdfs://namenode/evidence")
    assert check.found == "not checked: only Spark reaches this file system"
