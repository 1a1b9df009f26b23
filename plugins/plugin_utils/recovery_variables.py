# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide what the variables of the role unclean_recovery mean together. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import (
    EngineName,
    EngineOptions,
    SparkOptionsError,
    parse_spark_options,
    require_settings_reference,
)

Options = Mapping[str, Any]
"""The variables that are given or have a default, without prefix, in the types of the argument specs."""

_SELECTORS = (
    "all_offline_partitions",
    "partitions_file",
    "partitions",
    "designations_file",
    "designations",
    "plan_file",
    "plan",
)
_LISTS = ("partitions", "designations")
"""An empty list selects no partition. It never means all partitions."""
_FILES = ("manual_output_file", "report_file", "report_html")
"""Files that are to be created. The directory of evidence may exist, with that of other runs, or be a URI."""


def decide(options: Options, kafka: Options, later: Mapping[str, str], *, is_check: bool) -> dict[str, Any]:
    """Return what the role does with these variables.

    ``kafka`` are the shared variables of the connection, ``later`` the paths that the role redundancy is to create
    afterwards, by the names of its variables.
    """
    has_plan = _has_plan(options)
    automated = options["automated_recovery"]
    only_looks = is_check or not automated
    restores = options["then_restore_redundancy"] and not only_looks
    outputs = _paths(options, _FILES) | (dict(later) if restores else {})
    return {
        "refusals": [*_refusals(options, kafka, _paths(options, ("evidence_dir",)) | outputs)],
        "has_plan": has_plan,
        # Nothing is written in check mode, or if it was not requested.
        "only_looks": only_looks,
        # Lost replicas are replaced after the elections, also where an earlier run has done these.
        "restores": restores,
        # A plan that this run carries out is not passed to later jobs.
        "publishes": options.get("publish_plan", True) and not automated and not has_plan,
        # Then the role fails if the plan is too large to be published. It warns otherwise.
        "must_publish": options.get("publish_plan", False),
        "outputs": [*outputs.values()],
    }


def _has_plan(options: Options) -> bool:
    return bool(options.get("plan_file") or options.get("plan"))


def _paths(options: Options, names: Iterable[str]) -> dict[str, str]:
    """Return the given paths, by their variables."""
    return {f"unclean_recovery_{each}": options[each] for each in names if options.get(each)}


def _refusals(options: Options, kafka: Options, written: Mapping[str, str]) -> Iterator[str]:
    """Yield why these variables are refused although each one alone is right. ``written`` are paths, by variable."""
    if not kafka.get("bootstrap_servers") and not kafka.get("command_config"):
        yield "kafka_bootstrap_servers or kafka_command_config must say where the brokers are"
    selectors = [
        f"unclean_recovery_{each}"
        for each in _SELECTORS
        if (options.get(each) is not None if each in _LISTS else options.get(each))
    ]
    # A run that only looks covers all offline partitions, unless it is told which.
    if len(selectors) > 1 or (not selectors and options["automated_recovery"]):
        *first, last = (f"unclean_recovery_{each}" for each in _SELECTORS)
        yield (
            f"exactly one of {', '.join(first)} and {last} must say which partitions; "
            f"given: {' and '.join(selectors) or 'none'}"
        )
    has_plan, output = _has_plan(options), options.get("manual_output_file")
    if options.get("plan_digest") and not has_plan:
        yield (
            "unclean_recovery_plan_digest pins the plan that was approved, and there is none: give it as "
            "unclean_recovery_plan_file or unclean_recovery_plan"
        )
    if options["automated_recovery"] and output:
        yield (
            "unclean_recovery_manual_output_file and unclean_recovery_automated_recovery exclude each other: either a "
            "person reviews the plan, or it is carried out"
        )
    if has_plan and output:
        yield (
            "unclean_recovery_manual_output_file makes a plan, and unclean_recovery_plan_file or unclean_recovery_plan "
            "is one: to carry it out, set unclean_recovery_automated_recovery"
        )
    if options["then_restore_redundancy"] and not options["lost_brokers"]:
        yield (
            "unclean_recovery_then_restore_redundancy replaces the replicas of lost brokers, and "
            "unclean_recovery_lost_brokers names none"
        )
    yield from _refusals_at_work(options)
    for path in dict.fromkeys(written.values()):
        same = [name for name, each in written.items() if each == path]
        if len(same) > 1:
            yield f"{' and '.join(same)} are the same path, {path}: give each its own"


def _refusals_at_work(options: Options) -> Iterator[str]:
    """Yield what a module would refuse only once a partition is offline. A quiet day shall show it."""
    spark = options.get("spark") or {}
    try:
        engine = EngineOptions(EngineName(options["engine"]), parse_spark_options(spark), options["spark_wait_ms"])
        if not engine.where.is_local and not _has_plan(options):
            require_settings_reference(spark, engine.where)
    except SparkOptionsError as error:
        yield f"unclean_recovery_spark: {error}"
    for name in ("election_attempts", "election_timeout_ms"):
        if options.get(name) == 0:
            yield f"unclean_recovery_{name} is 0: give a number from 1 on"
    if (options.get("replica_log_api_key") is not None) != (options["replica_log_source"] == "native"):
        yield "unclean_recovery_replica_log_source=native and unclean_recovery_replica_log_api_key need each other"
