# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The meaning of Spark's errors. The texts are of PySpark 4.1 and Java; see tests/integration/spark for real errors."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.failures import (
    describe_failure,
    explain_failure,
    explain_refused_token,
)

MISMATCH = (
    "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: "
    "3.12 than that in driver: 3.11, PySpark cannot run with different minor versions."
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MISMATCH, "executors run Python 3.12, and this module runs Python 3.11"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "lacks the library pyarrow"),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found.", "pyarrow 18.0.0"),
        (
            'Cannot run program "/opt/x/bin/python3": error=2, No such file or directory',
            "no Python at /opt/x/bin/python3",
        ),
        ("java.lang.OutOfMemoryError: Java heap space\n\tat x", "ran out of memory (Java heap space)"),
        ("ExecutorLostFailure (executor 0 exited): Command exited with code 137", "an executor was killed"),
        (
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "a Python worker of Spark was killed",
        ),
        ("java.io.IOException: No space left on device\n\tat x", "no space left on device"),
    ],
)
def test_cause_and_remedy(text: str, said: str) -> None:
    found = explain_failure(text) or ""
    assert said in found
    assert "spark." in found, "a setting to change"


@pytest.mark.parametrize(
    "text",
    [
        ": java.nio.file.AccessDeniedException: /srv/a b: Permission denied\n\tat x",
        ": java.nio.file.AccessDeniedException: /srv/a b\n\tat x",
        "Caused by: java.io.FileNotFoundException: /srv/a b (Permission denied)\n\tat x",
        "java.io.IOException: Mkdirs failed to create file:/srv/a b/_temporary/0/attempt_1 (exists=false, cwd=file:/)",
    ],
)
def test_a_place_that_the_user_of_spark_may_not_use(text: str) -> None:
    assert "may not read or write /srv/a b. Give" in (explain_failure(text) or "")


def test_a_file_that_is_missing_is_not_one_that_may_not_be_read() -> None:
    assert explain_failure("java.io.FileNotFoundException: /srv/a (No such file or directory)") is None


def test_an_error_of_this_collection_in_a_worker_is_told_in_its_words() -> None:
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "/tmp/kafkaops_recovery.zip/ansible_collections/kafkaops/recovery/plugins/x.py", line 1, in run\n'
        "ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors.SettingsError: the connection "
        "settings cannot be used: the file of connection settings /etc/x.json does not exist\n"
    )
    assert explain_failure(text) == (
        "the connection settings cannot be used: the file of connection settings /etc/x.json does not exist"
    )


def test_unknown_error_is_not_explained() -> None:
    assert explain_failure("org.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND]") is None
    assert explain_refused_token("the server said no") is None


def test_a_refused_token() -> None:
    assert "SPARK_CONNECT_AUTHENTICATE_TOKEN" in (explain_refused_token("status = StatusCode.UNAUTHENTICATED") or "")


_TRACE = "\n\tat org.apache.hadoop.fs.FileSystem.get(FileSystem.java:558)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"An error occurred while calling o59.parquet.\n: java.io.IOException: no host: hdfs:///x{_TRACE}",
            "java.io.IOException: no host: hdfs:///x",
        ),
        (
            f"An error occurred while calling o1.x.\n: a.SparkException: Failed.{_TRACE}\nCaused by: b.Full: disk",
            "a.SparkException: Failed. Caused by: b.Full: disk",
        ),
        (
            f"An error occurred while calling o1.x.\n: java.nio.channels.Unresolved{_TRACE}",
            "java.nio.channels.Unresolved",
        ),
        (
            f"[PATH_ALREADY_EXISTS] Path file:/x already exists.{_TRACE}",
            "[PATH_ALREADY_EXISTS] Path file:/x already exists.",
        ),
        ("", "unknown"),
    ],
    ids=["of Java", "with its cause", "without a message", "of Spark SQL", "without a text"],
)
def test_an_error_that_is_not_known_is_told_in_the_words_of_java(text: str, said: str) -> None:
    assert describe_failure(text) == said
