# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metrics of exporters and of Jolokia, in all usual spellings, and invalid answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import CleanerMetrics, LogDirMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics import (
    Gauge,
    MetricsError,
    parse_jolokia,
    parse_prometheus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics_source import (
    check_template,
    url_for,
)

EXPECTED = CleanerMetrics(1, 449, 12, (LogDirMetrics("/d/0", 2, 3068247), LogDirMetrics("/d/1", 0, None)))

# As real agents gave it on Kafka 4.3.1 and 3.9.2, but for the values.
WITH_RULES = """\
# HELP kafka_log_logcleaner_deadthreadcount kafka.log:name=DeadThreadCount,type=LogCleaner
# TYPE kafka_log_logcleaner_deadthreadcount untyped
kafka_log_logcleaner_deadthreadcount 1.0
kafka_log_logcleaner_max_clean_time_secs -1.795269358E9
kafka_log_logcleanermanager_max_dirty_percent 12.0
kafka_log_logcleanermanager_time_since_last_run_ms 449.0
kafka_log_logcleanermanager_uncleanable_bytes{logDirectory="\\"/d/0\\""} 3068247.0
kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="\\"/d/0\\""} 2.0
kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="\\"/d/1\\""} 0.0
jvm_threads_current 31.0
"""
WITHOUT_RULES = """\
kafka_log_LogCleaner_Value{name="DeadThreadCount"} 1.0
kafka_log_LogCleanerManager_Value{name="max-dirty-percent"} 12.0
kafka_log_LogCleanerManager_Value{name="time-since-last-run-ms"} 449.0
kafka_log_LogCleanerManager_Value{name="uncleanable-bytes",logDirectory="/d/0"} 3068247.0
kafka_log_LogCleanerManager_Value{name="uncleanable-bytes",logDirectory="/d/1"} NaN
kafka_log_LogCleanerManager_Value{name="uncleanable-partitions-count",logDirectory="/d/0"} 2.0
kafka_log_LogCleanerManager_Value{name="uncleanable-partitions-count",logDirectory="/d/1"} 0.0
"""
MIXED_CASE = WITH_RULES.replace("logcleanermanager", "LogCleanerManager").replace("_ms ", "_ms_value ")


@pytest.mark.parametrize("text", [WITH_RULES, WITHOUT_RULES, MIXED_CASE], ids=["rules", "no rules", "mixed case"])
def test_the_usual_names(text: str) -> None:
    assert parse_prometheus(text, {}) == EXPECTED


@pytest.mark.parametrize(("value", "dead"), [("0.4", 1), ("NaN", None), ("+Inf", None), ("-1", None), ("1e30", None)])
def test_no_strange_value_counts_as_zero(value: str, dead: int | None) -> None:
    """A federated exporter may hand on means."""
    assert (
        parse_prometheus(WITH_RULES.replace("deadthreadcount 1.0", f"deadthreadcount {value}"), {}).dead_threads == dead
    )


def test_a_value_that_python_cannot_convert_is_unknown() -> None:
    beans = {"kafka.log:name=DeadThreadCount,type=LogCleaner": {"Value": 10**400}}
    assert parse_jolokia(json.dumps([{"status": 200, "value": beans}, {"status": 404}])).dead_threads is None


def test_an_answer_that_is_too_deep_is_no_traceback() -> None:
    with pytest.raises(MetricsError, match="not JSON"):
        parse_jolokia("[" * 100_000)


def test_a_configured_name_replaces_the_usual_one() -> None:
    text = WITH_RULES + "cleaner_dead 3\n"
    assert parse_prometheus(text, {Gauge.DEAD_THREADS: "cleaner_dead"}).dead_threads == 3
    assert parse_prometheus(WITH_RULES, {Gauge.DEAD_THREADS: "not_there"}).dead_threads is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<html>moved</html>", "not Prometheus text"),
        ("jvm_threads_current 31.0\n", "no metric of the log cleaner"),
        ("", "no metric of the log cleaner"),
        (WITH_RULES + 'kafka_log_logcleaner_deadthreadcount{instance="b"} 0\n', "two values of"),
    ],
)
def test_invalid_prometheus_text_is_refused(text: str, said: str) -> None:
    with pytest.raises(MetricsError, match=said):
        parse_prometheus(text, {})


def test_an_unknown_gauge_is_not_zero() -> None:
    found = parse_prometheus("kafka_log_logcleanermanager_time_since_last_run_ms 5\n", {})
    assert found == CleanerMetrics(time_since_last_run_ms=5)
    assert found.uncleanable_partitions is None


def _answer(*values: dict[str, Any]) -> str:
    return json.dumps([{"status": 200, "value": value} for value in values])


def _bean(name: str, kind: str, log_dir: str = "") -> str:
    return (
        f'kafka.log:logDirectory="{log_dir}",name={name},type={kind}'
        if log_dir
        else f"kafka.log:name={name},type={kind}"
    )


MANAGER: dict[str, Any] = {
    _bean("max-dirty-percent", "LogCleanerManager"): {"Value": 12},
    _bean("time-since-last-run-ms", "LogCleanerManager"): {"Value": 449},
    _bean("uncleanable-partitions-count", "LogCleanerManager", "/d/0"): {"Value": 2},
    _bean("uncleanable-partitions-count", "LogCleanerManager", "/d/1"): {"Value": 0},
    _bean("uncleanable-bytes", "LogCleanerManager", "/d/0"): {"Value": 3068247},
    _bean("uncleanable-bytes", "LogCleanerManager", "/d/1"): {"Value": "ERROR: java.lang.NullPointerException"},
}


def test_jolokia() -> None:
    assert parse_jolokia(_answer({_bean("DeadThreadCount", "LogCleaner"): {"Value": 1}}, MANAGER)) == EXPECTED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# HELP x", "not JSON"),
        ("{}", "not Jolokia's"),
        ('[{"status": 200}, {"status": 200}]', "not Jolokia's"),
        ('[{"status": 200, "value": {"x": 1}}, {"status": 404}]', "not Jolokia's"),
        ('[{"status": 403, "error": "not allowed"}, {"status": 403}]', "not allowed"),
        ('[{"status": 404}, {"status": 404}]', "no metric of the log cleaner"),
        (_answer({}, {}), "no metric of the log cleaner"),
    ],
)
def test_invalid_answers_of_jolokia_are_refused(text: str, said: str) -> None:
    with pytest.raises(MetricsError, match=said):
        parse_jolokia(text)


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("http://{host}:7071/metrics", "http://kafka3:7071/metrics"),
        ("https://{host}:170{broker_id}/jolokia", "https://kafka3:1703/jolokia"),
        ("http://gateway/{broker_id}/", "http://gateway/3/"),
    ],
)
def test_the_url_of_a_broker(template: str, url: str) -> None:
    assert check_template(template) == template
    assert url_for(template, 3, "kafka3") == url


def test_an_ipv6_host_is_put_in_brackets() -> None:
    assert url_for("http://{host}:7071/", 1, "::1") == "http://[::1]:7071/"


@pytest.mark.parametrize(
    "template", ["{host}:7071", "ftp://{host}/", "http:///x", "http://{hots}:1/", "http://{host}:x/", "http://a b/"]
)
def test_invalid_urls_are_refused(template: str) -> None:
    with pytest.raises(MetricsError):
        check_template(template)
