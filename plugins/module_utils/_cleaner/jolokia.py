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

from .facts import CleanerMetrics
from .metrics import MBEANS, MetricsError, Reading, cleaner_metrics

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
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
    """Return the body of the POST to Jolokia's base URL. A gauge that fails does not affect the others."""
    return json.dumps(
        [{"type": "read", "mbean": f"kafka.log:type={each},*", "config": {"ignoreErrors": True}} for each in _TYPES]
    ).encode()


def parse(text: str) -> CleanerMetrics:
    """Read the cleaner's gauges from Jolokia's answer.

    Raises MetricsError.
    """
    try:
        answers = json.loads(text)
    except ValueError:
        raise MetricsError(
            "its answer is no JSON: check that the URL is that of Jolokia's agent, as in /jolokia"
        ) from None
    error = next(iter(Draft202012Validator(_SCHEMA).iter_errors(answers)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the whole"
        raise MetricsError(
            f"its answer is JSON, but not Jolokia's bulk read (at {place}: {error.message[:200]}). "
            "Check that the URL is that of Jolokia's agent, as in /jolokia"
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
