# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much may be lost, for whom to wait, and how replicas are asked.

The doc fragments ``policy``, ``waiting`` and ``gathering`` describe the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .._kafka.native import NativeSource, NativeSourceError
from .._model.fields import INT32_MAX
from .._module.arguments import Arguments
from .._module.messages import all_of
from .._module.options import SPARK
from .._spark.options import SparkOptions, SparkOptionsError, given_options
from .policies import PolicyError, PolicyOptions
from .strategy import Strategy
from .waiting import WaitLimits

_FROM_CONFIG = "from_config"

POLICY = Arguments(
    argument_spec={
        "recovery_strategy": {
            "type": "str",
            "choices": [*(each.value for each in Strategy), _FROM_CONFIG],
            "default": Strategy.BALANCED.value,
        },
        "max_lost_records": {"type": "int"},
        "acknowledge_unclean_leader_election": {"type": "bool", "default": False},
        "allow_dropping_unregistered": {"type": "bool", "default": False},
    }
)


def policy_options(params: Mapping[str, Any]) -> PolicyOptions:
    """Read the options of the requested elections. Opens no connection.

    Raises PolicyError.
    """
    limit, strategy = params["max_lost_records"], params["recovery_strategy"]
    if limit is not None and limit < 0:
        raise PolicyError(f"max_lost_records must be 0 or greater, got {limit}")
    options = PolicyOptions(
        None if strategy == _FROM_CONFIG else Strategy(strategy),
        limit,
        params["acknowledge_unclean_leader_election"],
    )
    if params["evidence"] is not None:
        options.same_for_all(())
        if params["allow_dropping_unregistered"]:
            raise PolicyError(
                "allow_dropping_unregistered is about brokers that are registered now, which evidence does not say: "
                "leave it out, or leave out evidence"
            )
    return options


WAITING = Arguments(
    argument_spec={
        "await_brokers": {"type": "bool", "default": False},
        "recovery_wait_ms": {"type": "int", "default": 0},
        "lost_brokers": {"type": "list", "elements": "int", "default": []},
    }
)


def wait_limits(params: Mapping[str, Any], *, check_mode: bool) -> WaitLimits:
    """Read how long brokers are awaited. Opens no connection.

    Raises PolicyError.
    """
    wait_ms, lost = params["recovery_wait_ms"], params["lost_brokers"]
    if wait_ms < 0:
        raise PolicyError(f"recovery_wait_ms must be 0 or greater, got {wait_ms}")
    unknown = [each for each in lost if not 0 <= each <= INT32_MAX]
    if unknown:
        raise PolicyError(f"lost_brokers has {unknown[0]}, which is no broker id: give ids from 0")
    if params["evidence"] is not None and (lost or wait_ms or params["await_brokers"]):
        raise PolicyError(
            "await_brokers, recovery_wait_ms and lost_brokers are about brokers that are asked, and evidence was "
            "gathered earlier: leave them out, or leave out evidence"
        )
    return WaitLimits(
        params["recovery_duration_ms"], wait_ms, params["await_brokers"] and not check_mode, frozenset(lost)
    )


_PUBLIC, _NATIVE = "public", "native"
GATHERING = (
    Arguments(
        argument_spec={
            "recovery_duration_ms": {"type": "int", "default": 30000},
            "evidence_dir": {"type": "path"},
            "replica_log_source": {"type": "str", "choices": [_PUBLIC, _NATIVE], "default": _PUBLIC},
            "replica_log_api_key": {"type": "int", "no_log": False},
        },
    )
    + SPARK
)


class PlanForm(StrEnum):
    """In which form a module returns its plan."""

    DOCUMENT = "document"
    PUBLISHED = "published"
    TEMPORARY_FILE = "temporary_file"
    DIGEST = "digest"


def plan_form(params: Mapping[str, Any]) -> PlanForm:
    """Read in which form the plan is returned."""
    if params["return_plan"] is not None:
        return PlanForm(params["return_plan"])
    return PlanForm.DOCUMENT if params["plan_file"] is None else PlanForm.DIGEST


@dataclass(frozen=True, slots=True)
class Gathering:
    """How replicas are asked: by which RPC, and from where."""

    native: NativeSource | None
    spark: SparkOptions | None
    """Where Spark runs, if the operator chose it."""
    settings_reference: str | None
    """Path of the connection settings on the hosts with executors; None where this host's own file will do."""


def gathering(params: Mapping[str, Any]) -> Gathering:
    """Check all sources before anything is started. Raises KafkaOpsError with every problem."""
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


def _spark_options(params: Mapping[str, Any]) -> SparkOptions | None:
    options = given_options(params["spark"])
    if options is None:
        return None
    asks_brokers = params.get("evidence") is None
    if asks_brokers and not options.is_local and params["spark"].get("settings_reference") is None:
        raise SparkOptionsError(
            f"Spark runs at {options.remote or options.master}, so its executors need a file of their own with the "
            "connection settings: put one on each of their hosts, and name it in spark.settings_reference "
            "(docs/spark.md)"
        )
    return options
