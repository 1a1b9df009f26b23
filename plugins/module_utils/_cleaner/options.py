# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the options of the log cleaner modules, inspect the brokers, and build the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.partition import Broker
from .._model.reasons import plural
from .._model.run import KafkaOpsError, Progress
from .._model.setting import number_of
from .._module.connection import Arguments
from .._module.libraries import KAFKA
from .._module.run import to_json_types
from .diagnosis import DEFAULT_THRESHOLDS, Thresholds
from .facts import SHOWN, THREADS, CleanerMetrics
from .inspection import Cleaner, inspect_by_metrics, inspect_by_sizes
from .metrics_source import MetricsSource

BROKERS = Arguments(argument_spec={"brokers": {"type": "list", "elements": "int", "default": []}})


THRESHOLDS = Arguments(
    argument_spec={
        "stalled_after_ms": {"type": "int", "default": DEFAULT_THRESHOLDS.stalled_after_ms},
        "tolerated_uncleanable_partitions": {
            "type": "int",
            "default": DEFAULT_THRESHOLDS.tolerated_uncleanable_partitions,
        },
        "suspect_ratio": {"type": "float", "default": DEFAULT_THRESHOLDS.suspect_ratio},
        "suspect_bytes": {"type": "int", "default": DEFAULT_THRESHOLDS.suspect_bytes},
    }
)


SIZES = Arguments(
    argument_spec={
        "evidence_dir": {"type": "path"},
        "looks": {"type": "int", "default": 1},
        "look_interval_ms": {"type": "int", "default": 10_000},
    }
)


LIBRARIES = (*KAFKA, "crc32c", "prometheus_client")


LIBRARIES_WITHOUT_METRICS = (*LIBRARIES, "pyarrow", "pyspark")


class CleanerOptionsError(KafkaOpsError):
    """Invalid options. The text names all errors."""


def libraries(params: Mapping[str, Any]) -> Sequence[str]:
    """Return the libraries that a module needs: without metrics, Spark compares sizes."""
    return LIBRARIES_WITHOUT_METRICS if params["metrics_source"] == "none" else LIBRARIES


def thresholds(params: Mapping[str, Any]) -> Thresholds:
    """Return the thresholds of a module's parameters.

    Raises CleanerOptionsError.
    """
    errors = [
        f"{name} is {params[name]}, which is below {least}"
        for name, least in (
            ("stalled_after_ms", 1),
            ("tolerated_uncleanable_partitions", 0),
            ("suspect_ratio", 1),
            ("suspect_bytes", 0),
            ("looks", 1),
            ("look_interval_ms", 0),
        )
        if params.get(name) is not None and params[name] < least
    ]
    if errors:
        raise CleanerOptionsError("; ".join(errors))
    return Thresholds(
        stalled_after_ms=params["stalled_after_ms"],
        tolerated_uncleanable_partitions=params["tolerated_uncleanable_partitions"],
        suspect_ratio=params["suspect_ratio"],
        suspect_bytes=params["suspect_bytes"],
    )


def inspect_cleaners(  # noqa: PLR0917
    kafka: Kafka,
    cluster: Cluster,
    brokers: Sequence[Broker],
    source: MetricsSource | None,
    limits: Thresholds,
    params: Mapping[str, Any],
    progress: Progress,
) -> tuple[Cleaner, ...]:
    """Diagnose brokers by their metrics or, without metrics, by the sizes of copies, compared on Spark.

    Raises NoMetricsError, NoBrokerAnswersError, RequestRefusedError, BrokerCallError, EvidenceProblem or
    SparkUnavailableError.
    """
    progress.step(f"looking at the log cleaners of {plural(len(brokers), 'broker')}")
    if source is not None:
        return inspect_by_metrics(kafka, cluster, brokers, source.for_cluster(cluster), limits)
    from .trends import trends_by_broker  # noqa: PLC0415 - PySpark takes half a second to import

    trends, unread = trends_by_broker(kafka, cluster, params, progress)
    return inspect_by_sizes(kafka, cluster, brokers, trends, limits, unread)


def broker_result(cleaner: Cleaner) -> dict[str, Any]:
    """Return the result of one broker."""
    facts, metrics = cleaner.facts, cleaner.facts.metrics or CleanerMetrics()
    return {
        "broker_id": cleaner.broker_id,
        "host": facts.host,
        "diagnosis": cleaner.diagnosis.case.value,
        "reason": cleaner.diagnosis.reason,
        "restart_helps": cleaner.diagnosis.restart_helps,
        "is_inferred": cleaner.diagnosis.is_inferred,
        "threads": number_of(facts.settings.get(THREADS)),
        "dead_threads": metrics.dead_threads,
        "time_since_last_run_ms": metrics.time_since_last_run_ms,
        "max_dirty_percent": metrics.max_dirty_percent,
        "log_dirs": to_json_types(metrics.log_dirs),
        "configs": [
            {"name": name, "value": facts.settings[name].value, "source": facts.settings[name].source.value}
            for name in SHOWN
            if name in facts.settings
        ],
        "suspects": to_json_types(cleaner.suspects),
        "metrics_error": facts.metrics_error,
        "settings_error": facts.settings_error,
    }
