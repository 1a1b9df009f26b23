# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A lost Spark Connect server is distinguished from our own defect by the errors of the installed PySpark."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkAssertionError, PySparkException, PySparkRuntimeError
from pyspark.errors.exceptions.connect import (
    AnalysisException,
    PythonException,
    SparkConnectGrpcException,
    SparkException,
    UnknownException,
)

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark import connect
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import SparkOptions


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        pytest.param(SparkConnectGrpcException("UNAVAILABLE: connection refused"), "was lost", id="no answer"),
        pytest.param(
            UnknownException("[INVALID_HANDLE.SESSION_NOT_FOUND]", reason="java.sql.SQLException"),
            "was lost",
            id="it has restarted, and does not know the session",
        ),
        pytest.param(
            PySparkRuntimeError(
                errorClass="RESPONSE_ALREADY_RECEIVED", messageParameters={"error_type": "OPERATION_NOT_FOUND"}
            ),
            "was lost",
            id="it has restarted in the middle of an answer",
        ),
        pytest.param(PySparkAssertionError("Received incorrect session identifier"), "was lost", id="another answers"),
        pytest.param(SparkException("Job aborted due to stage failure"), "aborted the work", id="job aborted"),
        pytest.param(AnalysisException("no such column"), None, id="a query of ours"),
        pytest.param(PythonException("ValueError in a task"), None, id="a task of ours"),
        pytest.param(
            PySparkRuntimeError(errorClass="NO_ACTIVE_SESSION", messageParameters={}), None, id="a call of ours"
        ),
    ],
)
def test_failure_of_the_server_is_described(error: PySparkException, ending: str | None) -> None:
    found = connect.explain_server_error(error, SparkOptions(remote="sc://a:1"))
    assert (ending is None) == (found is None)
    assert found is None or str(found).startswith(f"the Spark Connect server at sc://a:1 {ending}: ")


def test_an_error_of_several_lines_is_one_line() -> None:
    error = SparkConnectGrpcException("<RPC that terminated with:\n\tstatus = UNAVAILABLE\n\tdetails = refused\n>")
    found = connect.explain_server_error(error, SparkOptions(remote="sc://a:1"))
    assert str(found).endswith("was lost: <RPC that terminated with: status = UNAVAILABLE details = refused >")
    assert connect.explain_server_error(ValueError("ours"), SparkOptions(remote="sc://a:1")) is None


@pytest.mark.parametrize(
    ("remote", "kept_alive"),
    [
        ("sc://a:1", "sc://a:1/;grpc_keepalive_time_ms=20000;grpc_keepalive_timeout_ms=10000"),
        ("sc://a:1/", "sc://a:1/;grpc_keepalive_time_ms=20000;grpc_keepalive_timeout_ms=10000"),
        ("sc://a/;use_ssl=true", "sc://a/;use_ssl=true;grpc_keepalive_time_ms=20000;grpc_keepalive_timeout_ms=10000"),
        (
            "sc://a/;grpc_keepalive_time_ms=60000",
            "sc://a/;grpc_keepalive_time_ms=60000;grpc_keepalive_timeout_ms=10000",
        ),
    ],
)
def test_keepalive_is_added_unless_the_url_sets_it(remote: str, kept_alive: str) -> None:
    assert connect._add_keepalive(remote) == kept_alive
