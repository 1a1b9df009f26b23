# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the log cleaner's gauges from the text of a Prometheus JMX exporter or from Jolokia's answer.

Kafka names them in JMX: ``kafka.log:type=LogCleaner,name=DeadThreadCount``,
``kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count,logDirectory=...`` and so on. Prometheus's own
parser reads an exporter's text (exposition format 0.0.4). Jolokia gets a bulk read (protocol version 7 and later,
https://jolokia.org/reference).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .._model.fields import INT64_MAX
from .._model.run import KafkaOpsError
from .facts import CleanerMetrics, LogDirMetrics


class MetricsError(KafkaOpsError):
    """A broker's metrics cannot be read, or are invalid. They must not count as zero."""


class Gauge(StrEnum):
    """A gauge, with the name of the option that overrides its name."""

    DEAD_THREADS = "dead_thread_count"
    TIME_SINCE_LAST_RUN_MS = "time_since_last_run_ms"
    MAX_DIRTY_PERCENT = "max_dirty_percent"
    UNCLEANABLE_PARTITIONS = "uncleanable_partitions_count"
    UNCLEANABLE_BYTES = "uncleanable_bytes"


MBEANS = {
    Gauge.DEAD_THREADS: ("LogCleaner", "DeadThreadCount"),
    Gauge.TIME_SINCE_LAST_RUN_MS: ("LogCleanerManager", "time-since-last-run-ms"),
    Gauge.MAX_DIRTY_PERCENT: ("LogCleanerManager", "max-dirty-percent"),
    Gauge.UNCLEANABLE_PARTITIONS: ("LogCleanerManager", "uncleanable-partitions-count"),
    Gauge.UNCLEANABLE_BYTES: ("LogCleanerManager", "uncleanable-bytes"),
}
"""Type and name of each gauge's MBean in the domain kafka.log."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One gauge's value; with its log directory, if it belongs to one."""

    gauge: Gauge
    value: float
    log_dir: str = ""


def cleaner_metrics(readings: Iterable[Reading]) -> CleanerMetrics:
    """Join the readings. A missing gauge is None.

    Raises MetricsError if there is no reading, or if two readings contradict each other.
    """
    values: dict[tuple[Gauge, str], int | None] = {}
    for each in readings:
        # A mean of several samples may be a fraction: no part of a dead thread counts as none.
        value = math.ceil(each.value) if 0 <= each.value <= INT64_MAX else None
        key = (each.gauge, each.log_dir)
        if values.setdefault(key, value) != value:
            raise MetricsError(f"it has two values of {each.gauge.value}: {values[key]} and {value}")
    if not values:
        raise MetricsError("it has no metric of the log cleaner: export kafka.log, or set metrics_names")
    directories = sorted({log_dir for _gauge, log_dir in values if log_dir})
    return CleanerMetrics(
        dead_threads=values.get((Gauge.DEAD_THREADS, "")),
        time_since_last_run_ms=values.get((Gauge.TIME_SINCE_LAST_RUN_MS, "")),
        max_dirty_percent=values.get((Gauge.MAX_DIRTY_PERCENT, "")),
        log_dirs=tuple(
            LogDirMetrics(
                each, values.get((Gauge.UNCLEANABLE_PARTITIONS, each)), values.get((Gauge.UNCLEANABLE_BYTES, each))
            )
            for each in directories
        ),
    )


_NO_WORD = re.compile(r"[^a-z0-9]+")
_LOG_DIR_LABELS = frozenset({"logdirectory", "log_directory", "logdir", "log_dir"})


def parse_prometheus(text: str, names: Mapping[Gauge, str]) -> CleanerMetrics:
    """Read the cleaner's gauges from an exporter's text.

    ``names`` replace the usual names. These are, in any case and with any separator,
    ``kafka_log_logcleaner_deadthreadcount`` (the example configs and Strimzi), and
    ``kafka_log_LogCleaner_Value{name="DeadThreadCount"}`` (an exporter without rules).

    Raises MetricsError.
    """
    try:
        return cleaner_metrics(
            _prometheus_readings(text, {name: gauge for gauge, name in names.items()}, frozenset(names))
        )
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise MetricsError(
            f"its answer is not Prometheus text ({error}): check that the URL is that of the exporter's metrics"
        ) from None


def _prometheus_readings(text: str, own: Mapping[str, Gauge], renamed: frozenset[Gauge]) -> Iterator[Reading]:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - only where it is the source

    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            gauge = own.get(sample.name)
            if gauge is None:
                gauge = _USUAL.get(_usual(sample.name, sample.labels))
                if gauge in renamed:
                    continue
            if gauge is not None:
                yield Reading(gauge, float(sample.value), _log_dir(sample.labels))


def _usual(name: str, labels: Mapping[str, str]) -> str:
    word = _word(name)
    bean = next((value for label, value in labels.items() if label.lower() == "name"), None)
    if bean is not None:
        word = f"{word.removesuffix('_value')}_{_word(bean)}"
    return word.removesuffix("_value")


def _word(text: str) -> str:
    return _NO_WORD.sub("_", text.lower()).strip("_")


_USUAL = {f"kafka_log_{_word(kind)}_{_word(name)}": gauge for gauge, (kind, name) in MBEANS.items()}


def _log_dir(labels: Mapping[str, str]) -> str:
    # Kafka quotes the directory in the MBean's name, and exporters keep the quotation marks.
    return next((value.strip('"') for label, value in labels.items() if label.lower() in _LOG_DIR_LABELS), "")


_BEAN_TYPES = ("LogCleaner", "LogCleanerManager")
_OK = 200
_NO_SUCH_MBEAN = 404
_ANSWER = {
    "type": "array",
    "minItems": len(_BEAN_TYPES),
    "maxItems": len(_BEAN_TYPES),
    "items": {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "integer"}, "error": {"type": "string"}},
        "if": {"properties": {"status": {"const": _OK}}},
        "then": {
            "required": ["value"],
            "properties": {"value": {"type": "object", "additionalProperties": {"type": "object"}}},
        },
    },
}
_PROPERTY = re.compile(r'([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]*)')
_GAUGES = {bean: gauge for gauge, bean in MBEANS.items()}


def jolokia_request() -> bytes:
    """Return the body of the POST to Jolokia's base URL. A gauge that fails does not affect the others."""
    return json.dumps(
        [
            {"type": "read", "mbean": f"kafka.log:type={each},*", "config": {"ignoreErrors": True}}
            for each in _BEAN_TYPES
        ]
    ).encode()


def parse_jolokia(text: str) -> CleanerMetrics:
    """Read the cleaner's gauges from Jolokia's answer.

    Raises MetricsError.
    """
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only where Jolokia is the source

    try:
        answers = json.loads(text)
    except (ValueError, RecursionError):
        raise MetricsError(
            "its answer is not JSON: check that the URL is that of Jolokia's agent, for example /jolokia"
        ) from None
    error = next(iter(Draft202012Validator(_ANSWER).iter_errors(answers)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the whole"
        raise MetricsError(
            f"its answer is JSON, but not Jolokia's bulk read (at {place}: {error.message[:200]}). "
            "Check that the URL is that of Jolokia's agent, for example /jolokia"
        )
    for each in answers:
        if each["status"] not in (_OK, _NO_SUCH_MBEAN):
            raise MetricsError(
                f"Jolokia refuses to read kafka.log (status {each['status']}): {each.get('error', 'no reason given')}"
            )
    return cleaner_metrics(
        reading for each in answers if each["status"] == _OK for reading in _jolokia_readings(each["value"])
    )


def _jolokia_readings(beans: dict[str, dict[str, Any]]) -> Iterator[Reading]:
    for name, attributes in beans.items():
        properties = dict(_PROPERTY.findall(name.partition(":")[2]))
        gauge = _GAUGES.get((properties.get("type", ""), properties.get("name", "")))
        value = attributes.get("Value")
        # If a gauge fails, Jolokia returns its error as text.
        if gauge is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Reading(gauge, value, properties.get("logDirectory", "").strip('"'))
