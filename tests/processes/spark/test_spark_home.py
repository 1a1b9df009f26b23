# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Workers import the installed, compiled PySpark, by a SPARK_HOME directory of ours."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import lean_spark_home


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("bin", "jars", "python"):
        (tmp_path / "pyspark" / name).mkdir(parents=True)
    return tmp_path / "pyspark"


def test_lean_spark_home_has_no_python_files(package: Path) -> None:
    home = lean_spark_home(package)
    assert {each.name: each.readlink() for each in home.iterdir()} == {
        "bin": package / "bin",
        "jars": package / "jars",
    }
    assert lean_spark_home(package) == home
    assert [each.name for each in home.parent.iterdir()] == [home.name]


def test_package_itself_is_used_if_others_could_change_the_cache(package: Path, tmp_path: Path) -> None:
    (tmp_path / "kafkaops.recovery").mkdir()
    (tmp_path / "kafkaops.recovery").chmod(0o770)
    assert lean_spark_home(package) == package


def test_package_itself_is_used_if_the_cache_cannot_be_created(package: Path, tmp_path: Path) -> None:
    (tmp_path / "kafkaops.recovery").touch()
    assert lean_spark_home(package) == package


def test_workers_import_the_installed_package(spark: SparkSession) -> None:
    def where(_number: int) -> str:
        import pyspark as imported  # noqa: PLC0415

        return imported.__file__

    assert spark.sparkContext.parallelize([0], 1).map(where).collect() == [pyspark.__file__]
