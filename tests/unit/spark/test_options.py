# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark's options: names that look secret are refused."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import (
    SparkOptions,
    SparkOptionsError,
    has_password,
    parse_spark_options,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session


@pytest.mark.parametrize(
    "name", ["spark.authenticate.secret", "spark.ssl.keyPassword", "spark.hadoop.fs.s3a.access.key", "my.token"]
)
def test_a_secret_is_refused(name: str) -> None:
    with pytest.raises(SparkOptionsError, match=name) as refusal:
        SparkOptions(conf={name: "hunter2"})
    assert "hunter2" not in str(refusal.value)


def test_a_file_with_a_secret_is_not_one() -> None:
    assert SparkOptions(conf={"spark.authenticate.secret.file": "/etc/spark/secret"}).is_local


@pytest.mark.parametrize("remote", ["http://spark:15002", "sc://spark:15002/;token=hunter2"])
def test_invalid_remote_url_or_one_with_a_token_is_refused(remote: str) -> None:
    with pytest.raises(SparkOptionsError):
        SparkOptions(remote=remote)


@pytest.mark.parametrize(
    "given",
    [
        {"remote": "https://me:hunter2@spark:15002"},
        {"remote": "sc://me:hunter2@spark:15002"},
        {"master": "spark://me:hunter2@spark:7077"},
        {"conf": {"spark.hadoop.fs.defaultFS": "hdfs://me:hunter2@namenode"}},
    ],
)
def test_a_url_with_a_password_is_refused_and_not_shown(given: dict[str, Any]) -> None:
    with pytest.raises(SparkOptionsError, match="has a URL with a password") as refusal:
        parse_spark_options(given)
    assert "hunter2" not in str(refusal.value)


def test_a_setting_without_a_value_is_not_given() -> None:
    given = parse_spark_options({"conf": {"spark.cores.max": None, "spark.speculation": True}})
    assert given == SparkOptions(conf={"spark.speculation": "true"})


@pytest.mark.parametrize(
    ("text", "has_one"),
    [
        ("https://user:hunter2@host/x", True),
        ("s3a://key:a/b+c@bucket", True),
        ("['/x', 'ftp://u:@h']", True),
        ("hdfs://namenode:8020/a@b", False),
        ("hdfs://[::1]:8020/a@b", False),
        ("abfss://container@account.dfs.core.windows.net:443/x", False),
        ("PLAINTEXT://one:9092,two:9092", False),
        ("/a:b@c", False),
    ],
)
def test_a_password_in_a_uri_is_found(text: str, has_one: bool) -> None:
    assert has_password(text) is has_one


def test_missing_connect_server_is_reported_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    began = time.monotonic()
    with (
        pytest.raises(SparkUnavailableError, match="cannot be reached"),
        spark_session(SparkOptions(remote=f"sc://127.0.0.1:{port}")),
    ):
        pytest.fail("there is no server")
    assert time.monotonic() - began < 30
