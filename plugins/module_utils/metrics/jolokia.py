# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jolokia's bulk read, asked for and checked (protocol version 7 and later, https://jolokia.org/reference)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import CleanerMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.errors import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.gauges import MBEANS, Reading, cleaner_metrics

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from jsonschema import Draft202012Validator

_TYPES = ("LogCleaner", "LogCleanerManager")
_OK = 200
_NO_SUCH_MBEAN = 404
_SCHEMA = {
    "type": "array",
    "minItems": len(_TYPES),
    "maxItems": len(_TYPES),
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


def request_body() -> bytes:
    """What is to be POSTed to Jolokia's base URL. A gauge that fails must not take the others with it."""
    return json.dumps(
        [{"type": "read", "mbean": f"kafka.log:type={each},*", "config": {"ignoreErrors": True}} for each in _TYPES]
    ).encode()


def parse(text: str) -> CleanerMetrics:
    """The cleaner's gauges in Jolokia's answer.

    Raises MetricsError.
    """
    try:
        answers = json.loads(text)
    except ValueError:
        raise MetricsError("what it answers is no JSON: is the URL that of Jolokia's agent, as in /jolokia?") from None
    fault = next(iter(Draft202012Validator(_SCHEMA).iter_errors(answers)), None)
    if fault is not None:
        place = "/".join(map(str, fault.absolute_path)) or "the whole"
        raise MetricsError(
            f"what it answers is JSON, but none of Jolokia's bulk read (at {place}: {fault.message[:200]}): is the URL "
            "that of Jolokia's agent, as in /jolokia?"
        )
    for each in answers:
        if each["status"] not in (_OK, _NO_SUCH_MBEAN):
            raise MetricsError(
                f"Jolokia refuses to read kafka.log (status {each['status']}): {each.get('error', 'no reason given')}"
            )
    return cleaner_metrics(reading for each in answers if each["status"] == _OK for reading in _readings(each["value"]))


def _readings(beans: dict[str, dict[str, Any]]) -> Iterator[Reading]:
    for name, attributes in beans.items():
        properties = dict(_PROPERTY.findall(name.partition(":")[2]))
        gauge = _GAUGES.get((properties.get("type", ""), properties.get("name", "")))
        value = attributes.get("Value")
        # Where a gauge fails, Jolokia gives its error as a text.
        if gauge is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Reading(gauge, float(value), properties.get("logDirectory", "").strip('"'))
