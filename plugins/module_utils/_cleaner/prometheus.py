# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text that a Prometheus JMX exporter gives (exposition format 0.0.4), read with Prometheus's own parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from .facts import CleanerMetrics
from .metrics import MBEANS, Gauge, MetricsError, Reading, cleaner_metrics

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from prometheus_client.parser import text_string_to_metric_families


_NO_WORD = re.compile(r"[^a-z0-9]+")
_LOG_DIR_LABELS = frozenset({"logdirectory", "log_directory", "logdir", "log_dir"})


def parse(text: str, names: Mapping[Gauge, str]) -> CleanerMetrics:
    """Read the cleaner's gauges from an exporter's text.

    ``names`` replace the usual names. The usual ones, in any case and with any separator:
    ``kafka_log_logcleaner_deadthreadcount``, as the example configs and Strimzi's have it; and
    ``kafka_log_LogCleaner_Value{name="DeadThreadCount"}``, as an exporter without rules.

    Raises MetricsError.
    """
    try:
        return cleaner_metrics(_readings(text, {name: gauge for gauge, name in names.items()}, frozenset(names)))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise MetricsError(
            f"its answer is no Prometheus text ({error}): check that the URL is that of the exporter's metrics"
        ) from None


def _readings(text: str, own: Mapping[str, Gauge], renamed: frozenset[Gauge]) -> Iterator[Reading]:
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
