# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Python libraries modules need, told before anything is done: an outage is no time for half a run."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

DOCUMENTS = ("jsonschema",)
KAFKA = (*DOCUMENTS, "javaproperties", "kafka")
KAFKA_AND_SPARK = (*KAFKA, "pyarrow", "pyspark")
BOTH_KAFKA_CLIENTS = (*KAFKA, "confluent_kafka")

_DISTRIBUTIONS = {
    "kafka": "kafka-python",
    "confluent_kafka": "confluent-kafka",
    "prometheus_client": "prometheus-client",
}
"""What PyPI calls a library, where that is not its import name."""


def missing(libraries: Iterable[str]) -> list[str]:
    """Those that cannot be imported here, as PyPI calls them. Imports nothing."""
    return [_DISTRIBUTIONS.get(name, name) for name in libraries if find_spec(name) is None]
