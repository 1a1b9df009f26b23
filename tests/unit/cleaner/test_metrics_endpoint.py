# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Endpoints without an answer, or with a late, a too large or a wrong answer: a clear error for each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics_source import METRICS, metrics_source
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address

_GOOD = b"kafka_log_logcleaner_deadthreadcount 0.0\n"
Answer = Callable[[BaseHTTPRequestHandler], None]


def _params(**given: object) -> dict[str, Any]:
    spec: Any = METRICS.argument_spec
    return {name: each.get("default") for name, each in spec.items()} | given


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], str]]:
    servers = []

    def start(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with suppress(OSError):
                    answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://{{host}}:{server.server_port}/metrics"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def _ok(handler: BaseHTTPRequestHandler, *chunks: bytes, pause: float = 0) -> None:
    handler.send_response(200)
    handler.end_headers()
    for chunk in chunks:
        handler.wfile.write(chunk)
        handler.wfile.flush()
        time.sleep(pause)


def _read(url: str, **given: object) -> Any:
    source = metrics_source(_params(metrics_source="prometheus", metrics_url=url, **given))
    assert source is not None
    return source(1, "127.0.0.1")


def test_an_endpoint_of_several_brokers_is_not_read() -> None:
    """Behind a load balancer, brokers have one host. Nobody knows whose metrics such an endpoint shows."""
    addresses = [Address("lb.example", 9092), Address("lb.example", 9093), Address("kafka3", 9092)]
    cluster = Cluster("c", tuple(Registration(each, at, None, False) for each, at in enumerate(addresses, 1)))
    source = metrics_source(_params(metrics_source="prometheus", metrics_url="http://{host}:7071/metrics"))
    assert source is not None
    with pytest.raises(MetricsError, match="is the URL of brokers 1, 2, and shows the metrics"):
        source.for_cluster(cluster)(2, "lb.example")
    assert source.for_cluster(cluster).shared.keys() == {"http://lb.example:7071/metrics"}
    by_id = metrics_source(_params(metrics_source="prometheus", metrics_url="http://{host}:707{broker_id}/metrics"))
    assert by_id is not None
    assert by_id.for_cluster(cluster).shared == {}


def test_a_working_endpoint_is_read(serve: Callable[[Answer], str]) -> None:
    assert _read(serve(lambda handler: _ok(handler, _GOOD))).dead_threads == 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda handler: handler.send_error(404), "answers 404"),
        (lambda handler: handler.send_error(503), "answers 503"),
        (lambda handler: _ok(handler, b"<html>"), "not Prometheus text"),
        (lambda handler: _ok(handler, b"\xff\xfe"), "not UTF-8 text"),
        (lambda handler: handler.connection.close(), "could not be read|could not be reached"),
    ],
    ids=["not found", "unavailable", "a page", "no text", "closed"],
)
def test_each_wrong_answer_is_explained(serve: Callable[[Answer], str], answer: Answer, said: str) -> None:
    with pytest.raises(MetricsError, match=said) as error:
        _read(serve(answer))
    assert "/metrics" in str(error.value)


@pytest.mark.parametrize(
    "answer",
    [lambda handler: time.sleep(5), lambda handler: _ok(handler, *[b"x 1\n"] * 50, pause=0.1)],
    ids=["silent", "drips"],
)
def test_a_slow_endpoint_is_given_up(serve: Callable[[Answer], str], answer: Answer) -> None:
    with pytest.raises(MetricsError, match=r"did not answer within 0\.5 s"):
        _read(serve(answer), metrics_timeout_ms=500)


def test_a_closed_port_is_explained() -> None:
    with pytest.raises(MetricsError, match="could not be reached"):
        _read("http://{host}:1/metrics")


def test_a_password_is_sent_and_not_shown(serve: Callable[[Answer], str]) -> None:
    seen = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["Authorization"])
        handler.send_error(401)

    with pytest.raises(MetricsError, match="answers 401") as error:
        _read(serve(answer), metrics_username="me", metrics_password="hidden")
    assert seen[0].startswith("Basic ")
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    "given",
    [
        {"metrics_source": "prometheus"},
        {"metrics_url": "http://{host}/"},
        {"metrics_source": "jolokia", "metrics_url": "http://{host}/", "metrics_names": {"max_dirty_percent": "x"}},
        {"metrics_source": "jolokia", "metrics_url": "http://{host}/", "metrics_timeout_ms": 0},
    ],
)
def test_contradictory_options_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(MetricsError):
        metrics_source(_params(**given))


@pytest.mark.parametrize("place", ["me:hidden@", "hidden@"])
def test_a_url_has_no_secret_in_it(place: str) -> None:
    with pytest.raises(MetricsError, match="metrics_username and metrics_password") as error:
        metrics_source(_params(metrics_source="prometheus", metrics_url=f"http://{place}{{host}}:7071/metrics"))
    assert "hidden" not in str(error.value)


def test_metrics_source_none_has_no_source() -> None:
    assert metrics_source(_params()) is None
