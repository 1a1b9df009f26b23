# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Open a session on a Spark Connect server. The driver is on the server; only a thin client is here.

The server's executors get this collection's code as an artifact of the session. The server deletes it with the session.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .failures import explain_failure, explain_refused_token
from .host_environment import forget_other_sessions
from .java import SparkUnavailableError
from .options import SparkOptions
from .workers import code_for_workers

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from pyspark.errors import PySparkException, PySparkImportError
    from pyspark.sql import SparkSession


_PORT = 15002
_CONNECT_TIMEOUT_S = 10
_RETRIES = 5
"""For a call that does not reach the server, with waits from 0.05 to 12.8 s. Spark's own 15 take ten minutes."""
_SERVER_LOST = frozenset({"SparkConnectGrpcException", "UnknownException", "PySparkAssertionError"})
"""Errors without an answer, errors without a PySpark class (such as an unknown session), answers of another server.

Compared by exact name: importing the classes needs grpcio, and their subclasses are errors of a query.
"""
_JOB_ABORTED = "SparkException"
"""An aborted job. Errors of our own code in a task have another class."""
_LOST_DURING_ANSWER = "RESPONSE_ALREADY_RECEIVED"
_KEEPALIVE = {"grpc_keepalive_time_ms": 20_000, "grpc_keepalive_timeout_ms": 10_000}
"""A server that freezes during a call is detected after the sum of both. Servers allow a ping every 10 s."""
_MAX_CHARACTERS = 500
_SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "16"}


@contextmanager
def connect_session(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a session on the server for a ``with`` block. The server keeps running.

    Raises SparkUnavailableError if the server cannot be reached or fails, or if the client's libraries are missing.
    """
    spark = _open(options)
    try:
        with tempfile.TemporaryDirectory(prefix="kafkaops-spark-") as name:
            spark.addArtifacts(str(code_for_workers(Path(name))), pyfile=True)
        yield spark
    except PySparkException as error:
        explained = explain_server_error(error, options)
        if explained is None:
            raise
        spark.client.set_retry_policies([])  # do not retry when the session is closed
        raise explained from error
    finally:
        with suppress(PySparkException, OSError):  # the server may have ended
            spark.stop()


def explain_server_error(error: BaseException | None, options: SparkOptions) -> SparkUnavailableError | None:
    """Return how the server failed. None if the server works, and the error is in our code."""
    if not isinstance(error, PySparkException):
        return None
    cause, failure = explain_failure(str(error)), _describe_server_failure(error)
    if cause is not None:
        failure = "aborted the work"
    if failure is None:
        return None
    return SparkUnavailableError(f"the Spark Connect server at {options.remote} {failure}: {cause or _shorten(error)}")


def _open(options: SparkOptions) -> SparkSession:
    remote = options.remote or ""
    _check_port(remote)
    forget_other_sessions()
    try:
        _await_channel(remote)
        builder = SparkSession.builder.remote(_add_keepalive(remote)).appName("kafkaops.recovery")
        for name, value in {**_SETTINGS, **options.conf}.items():
            builder = builder.config(name, value)
        spark = builder.create()
        _limit_retries(spark)
        _version = spark.version  # the first request to the server
    except (PySparkImportError, ImportError) as error:
        raise SparkUnavailableError(
            f"Spark Connect's client cannot be used: {error}. Install pandas, grpcio, grpcio-status, "
            "googleapis-common-protos and zstandard for the Python that runs the module"
        ) from error
    except (PySparkException, OSError) as error:
        _close_active_session()
        raise SparkUnavailableError(
            f"the Spark Connect server at {options.remote} cannot be used: "
            f"{explain_refused_token(str(error)) or _shorten(error)}"
        ) from error
    return spark


def _close_active_session() -> None:
    """Close a session that failed to open. Otherwise its client would retry for minutes when this process exits."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession  # noqa: PLC0415

    session = ConnectSession.getActiveSession()
    if session is not None:
        session.release_session_on_close = False
        session.stop()


def _check_port(remote: str) -> None:
    """Check that the port is open, because Spark's client would retry for minutes. From here, it needs no proxy."""
    place = urlsplit(remote)
    os.environ.update(no_grpc_proxy=place.hostname or "")
    try:
        socket.create_connection((place.hostname or "", place.port or _PORT), _CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError) as error:
        raise SparkUnavailableError(f"the Spark Connect server at {remote} cannot be reached: {error}") from error


def _await_channel(remote: str) -> None:
    """Wait until the server answers on a gRPC channel.

    A frozen server accepts connections, and Spark's client would retry for 15 minutes.
    """
    import grpc  # type: ignore[import-untyped]  # noqa: PLC0415  # it ships no types
    from pyspark.sql.connect.client.core import DefaultChannelBuilder  # noqa: PLC0415

    with DefaultChannelBuilder(remote).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(_CONNECT_TIMEOUT_S)
        except grpc.FutureTimeoutError as error:
            raise SparkUnavailableError(
                f"the Spark Connect server at {remote} cannot be reached: it accepted the connection and sent nothing "
                f"in {_CONNECT_TIMEOUT_S} s. Is it frozen, no Spark Connect server, or does only one side speak TLS?"
            ) from error


def _add_keepalive(remote: str) -> str:
    """Add keepalive pings to the URL. They distinguish a frozen server from a slow one."""
    parameters = "".join(f";{name}={value}" for name, value in _KEEPALIVE.items() if name not in remote)
    address, _separator, given = remote.partition(";")
    return f"{address.rstrip('/')}/" + (f";{given}" if given else "") + parameters


def _describe_server_failure(error: PySparkException) -> str | None:
    """Describe how the server failed. None if the server works and the error is in our code."""
    name = type(error).__name__
    if name == _JOB_ABORTED:
        return "aborted the work"
    return "was lost" if name in _SERVER_LOST or error.getCondition() == _LOST_DURING_ANSWER else None


def _limit_retries(spark: Any) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415

    spark.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])


def _shorten(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MAX_CHARACTERS]
