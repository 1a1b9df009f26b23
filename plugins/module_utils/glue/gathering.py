# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How replicas are asked, and how much of it is returned; the doc fragment ``gathering`` describes the options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import refuse_existing
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.refusals import all_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_source import (
    NativeSource,
    NativeSourceError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.options import SparkOptions, SparkOptionsError

_PUBLIC, _NATIVE = "public", "native"
GATHERING = Arguments(
    argument_spec={
        "recovery_duration_ms": {"type": "int", "default": 30000},
        "evidence_dir": {"type": "path"},
        "replica_log_source": {"type": "str", "choices": [_PUBLIC, _NATIVE], "default": _PUBLIC},
        "replica_log_api_key": {"type": "int", "no_log": False},
        "spark": {
            "type": "dict",
            "options": {
                "master": {"type": "str"},
                "remote": {"type": "str"},
                "driver_memory": {"type": "str"},
                "executor_python": {"type": "path"},
                "settings_reference": {"type": "path"},
                "conf": {"type": "dict"},
            },
            "mutually_exclusive": [("master", "remote")],
        },
    },
)
MAX_ROWS = Arguments(argument_spec={"max_rows": {"type": "int", "default": 1000}})


@dataclass(frozen=True, slots=True)
class Gathering:
    """How replicas are asked: by which RPC, and where the Spark that does it runs."""

    native: NativeSource | None
    spark: SparkOptions
    settings_reference: str | None
    """Path of the connection settings on the hosts with executors; None where this host's own file will do."""


def gathering(params: Mapping[str, Any]) -> Gathering:
    """Raises KafkaOpsError: all that is wrong, before anything is started."""
    native, spark = all_of(lambda: _native_source(params), lambda: _spark_options(params))
    return Gathering(native, spark, (params["spark"] or {}).get("settings_reference"))


def _native_source(params: Mapping[str, Any]) -> NativeSource | None:
    key, is_native = params["replica_log_api_key"], params["replica_log_source"] == _NATIVE
    if key is None and is_native:
        raise NativeSourceError(
            "replica_log_source is native, and replica_log_api_key does not say under which API key these brokers have "
            "GetReplicaLogInfo: no released Kafka has it, so there is no default"
        )
    if key is not None and not is_native:
        raise NativeSourceError(f"replica_log_api_key is {key}, and replica_log_source is not native")
    return NativeSource(key) if is_native else None


def _spark_options(params: Mapping[str, Any]) -> SparkOptions:
    given = params["spark"] or {}
    values = {name: value for name, value in given.items() if value is not None and name != "settings_reference"}
    if "conf" in values:
        # Ansible's booleans are Python's, and Spark's are lower case.
        values["conf"] = {name: _spark_text(value) for name, value in values["conf"].items()}
    options = SparkOptions(**values)
    asks_brokers = params.get("evidence") is None
    if asks_brokers and not options.is_local and given.get("settings_reference") is None:
        raise SparkOptionsError(
            f"Spark runs at {options.remote or options.master}, so its executors need a file of their own with the "
            "connection settings: put one on each of their hosts, and name it in spark.settings_reference "
            "(docs/spark.md)"
        )
    return options


def _spark_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def refuse_existing_output(path: str | None) -> None:
    """Raises DocumentError when something is there already, or cannot be made."""
    if path is not None:
        refuse_existing(os.path.normpath(path))
