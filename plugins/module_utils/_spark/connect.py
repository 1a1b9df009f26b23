# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session on a Spark Connect server: the driver is there, and only a thin client here.

The server's executors get this collection's code as an artifact of the session, which the server forgets with it.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .failures import explain_failure, explain_refused_token
from .java import SparkUnavailableError
from .options import SparkOptions
from .workers import code_for_workers

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from pyspark.errors import PySparkException, PySparkImportError
    from pyspark.sql import SparkSession


_PORT = 15002
_SECONDS_TO_CONNECT = 10
_RETRIES = 5
"""Of a call that finds no server, with waits from 0.05 to 12.8 s; Spark's own 15 add up to ten minutes."""
_LOST = frozenset({"SparkConnectGrpcException", "UnknownException", "PySparkAssertionError"})
"""No answer; what the server raises and PySpark has no class for (a session it does not know); another server's answer.

By name and exactly: the classes can be imported only where grpcio is, and their subclasses are errors of a query.
"""
_GAVE_UP = "SparkException"
"""A job that was aborted. What our own code raises in a task has another class."""
_LOST_IN_AN_ANSWER = "RESPONSE_ALREADY_RECEIVED"
_KEEPALIVE = {"grpc_keepalive_time_ms": 20_000, "grpc_keepalive_timeout_ms": 10_000}
"""A server that freezes in the middle of a call is noticed after both. It allows a ping every 10 s."""
_MOST_CHARACTERS = 500
_SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "16"}


@contextmanager
def connect_session(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a session on the server for the length of a ``with`` block. The server goes on without it.

    Raises SparkUnavailableError where the server cannot be reached, or the client's libraries are missing.
    """
    spark = _open(options)
    try:
        with tempfile.TemporaryDirectory(prefix="kafkaops-spark-") as name:
            spark.addArtifacts(str(code_for_workers(Path(name))), pyfile=True)
        yield spark
    except PySparkException as error:
        cause = explain_failure(str(error))
        if cause is not None:
            raise SparkUnavailableError(
                f"the Spark Connect server at {options.remote} gave the work up: {cause}"
            ) from error
        ending = _ending(error)
        if ending is None:
            raise
        spark.client.set_retry_policies([])  # nor is it waited for to say goodbye
        raise SparkUnavailableError(
            f"the Spark Connect server at {options.remote} {ending}: {_in_short(error)}"
        ) from error
    finally:
        with suppress(PySparkException, OSError):  # a server that ended has no session left
            spark.stop()


def _open(options: SparkOptions) -> SparkSession:
    remote = options.remote or ""
    _knock(remote)
    try:
        _await_greeting(remote)
        builder = SparkSession.builder.remote(_kept_alive(remote)).appName("kafkaops.recovery")
        for name, value in {**_SETTINGS, **options.conf}.items():
            builder = builder.config(name, value)
        spark = builder.create()
        _give_up_sooner(spark)
        _version = spark.version  # the first word with the server
    except (PySparkImportError, ImportError) as error:
        raise SparkUnavailableError(
            f"Spark Connect's client cannot be used: {error}. Install pandas, grpcio, grpcio-status, "
            "googleapis-common-protos and zstandard for the Python that runs the module"
        ) from error
    except (PySparkException, OSError) as error:
        _close_what_began()
        raise SparkUnavailableError(
            f"the Spark Connect server at {options.remote} cannot be used: "
            f"{explain_refused_token(str(error)) or _in_short(error)}"
        ) from error
    return spark


def _close_what_began() -> None:
    """Close a session that was not handed out. Its client would ask a server that ended for minutes, at our exit."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession  # noqa: PLC0415

    begun = ConnectSession.getActiveSession()
    if begun is not None:
        begun.release_session_on_close = False
        begun.stop()


def _knock(remote: str) -> None:
    """Check that the port is open: Spark's client tries for minutes to reach a server that is not there."""
    place = urlsplit(remote)
    try:
        socket.create_connection((place.hostname or "", place.port or _PORT), _SECONDS_TO_CONNECT).close()
    except (OSError, ValueError) as error:
        raise SparkUnavailableError(f"the Spark Connect server at {remote} cannot be reached: {error}") from error


def _await_greeting(remote: str) -> None:
    """Wait for the server's first bytes.

    A frozen server accepts connections, and Spark's client would try for 15 minutes.
    """
    import grpc  # type: ignore[import-untyped]  # noqa: PLC0415  # it ships no types
    from pyspark.sql.connect.client.core import DefaultChannelBuilder  # noqa: PLC0415

    with DefaultChannelBuilder(remote).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(_SECONDS_TO_CONNECT)
        except grpc.FutureTimeoutError as error:
            raise SparkUnavailableError(
                f"the Spark Connect server at {remote} cannot be reached: it was connected to, and said nothing in "
                f"{_SECONDS_TO_CONNECT} s. Is it frozen, no Spark Connect server, or does only one side speak TLS?"
            ) from error


def _kept_alive(remote: str) -> str:
    """Return the URL with keepalive pings: they distinguish a frozen server from a slow one."""
    parameters = "".join(f";{name}={value}" for name, value in _KEEPALIVE.items() if name not in remote)
    address, _separator, given = remote.partition(";")
    return f"{address.rstrip('/')}/" + (f";{given}" if given else "") + parameters


def _ending(error: PySparkException) -> str | None:
    """Describe how the server failed; None where the server works and the error is in our code."""
    name = type(error).__name__
    if name == _GAVE_UP:
        return "gave the work up"
    return "was lost" if name in _LOST or error.getCondition() == _LOST_IN_AN_ANSWER else None


def _give_up_sooner(spark: Any) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415

    spark.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])


def _in_short(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MOST_CHARACTERS]
