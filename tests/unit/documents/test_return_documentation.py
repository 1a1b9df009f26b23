# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documented results of modules name the fields of the dataclasses that they return, with types and choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins import modules
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import LogDirMetrics, Suspect
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.repair_plan import RepairOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.restart import RestartOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import CommitOutcome, EndOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import Move
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import (
    Assessment,
    Member,
    NodeVerdict,
    Verdicts,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.finding import Finding
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Controller
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import (
    BrokerLoss,
    Check,
    RackLoss,
    Readiness,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import AftermathFinding, Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import MoveOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import DiskFinding
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import Replayed
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import SavedRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.advice import Wave
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Gate, Led, Stop, StopReason
from ansible_collections.kafkaops.recovery.plugins.modules import (
    designated_election,
    group_recovery,
    journal_test,
    leader_candidate_info,
    log_cleaner,
    log_cleaner_info,
    log_cleaner_repair,
    offline_partition_info,
    preferred_election,
    preferred_leader_blacklist,
    quorum_info,
    readiness_info,
    redundancy,
    replica_log_salvage,
    salvage_info,
    salvage_replay,
    stop_gate,
)

RESULTS: list[tuple[ModuleType, str, type]] = [
    (designated_election, "partitions", Outcome),
    (designated_election, "aftermath", AftermathFinding),
    (group_recovery, "commits", CommitOutcome),
    (group_recovery, "transactions", EndOutcome),
    (journal_test, "checks", Check),
    (leader_candidate_info, "partitions", Outcome),
    (leader_candidate_info, "partitions.candidates", Candidate),
    (leader_candidate_info, "partitions.silent", SilentReplica),
    (leader_candidate_info, "partitions.losses", ExpectedLoss),
    (log_cleaner, "outcomes", RestartOutcome),
    (log_cleaner_info, "brokers.log_dirs", LogDirMetrics),
    (log_cleaner_info, "brokers.suspects", Suspect),
    (log_cleaner_repair, "outcomes", RepairOutcome),
    (offline_partition_info, "brokers", Broker),
    (offline_partition_info, "partitions", PartitionState),
    (preferred_election, "partitions", Move),
    (preferred_leader_blacklist, "partitions", OrderOutcome),
    (quorum_info, "", Assessment),
    (quorum_info, "voters", Member),
    (quorum_info, "observers", Member),
    (quorum_info, "controllers", Controller),
    (quorum_info, "findings", Finding),
    (quorum_info, "verdicts", Verdicts),
    (quorum_info, "verdicts.restart", NodeVerdict),
    (quorum_info, "verdicts.removal", NodeVerdict),
    (quorum_info, "verdicts.addition", NodeVerdict),
    (readiness_info, "", Readiness),
    (readiness_info, "checks", Check),
    (readiness_info, "broker_losses", BrokerLoss),
    (readiness_info, "rack_losses", RackLoss),
    (redundancy, "partitions", MoveOutcome),
    (replica_log_salvage, "partitions", DiskFinding),
    (salvage_info, "partitions", SavedRecords),
    (salvage_replay, "partitions", Replayed),
    (stop_gate, "", Gate),
    (stop_gate, "stops", Stop),
    (stop_gate, "stops.led", Led),
    (stop_gate, "reasons", StopReason),
    (stop_gate, "waves", Wave),
]


def _documented(module: ModuleType, path: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(module.RETURN)
    for name in filter(None, path.split(".")):
        found = found[name]["contains"]
    return found


def _known(hint: Any) -> Any:
    """Return the type without None."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    return hint


def _ansible_type(hint: Any) -> str:
    known = _known(hint)
    if get_origin(known) is tuple:
        return "list"
    # A module returns a tuple with names as a dict, too (_module/run.py).
    if get_origin(known) in (Mapping, dict) or is_dataclass(known) or hasattr(known, "_fields"):
        return "dict"
    return "str" if issubclass(known, StrEnum) else str(known.__name__)


@pytest.mark.parametrize(
    ("module", "path", "class_"), RESULTS, ids=[f"{each[0].__name__.split('.')[-1]}-{each[1]}" for each in RESULTS]
)
def test_documented_fields_are_those_of_the_class(module: ModuleType, path: str, class_: type) -> None:
    documented = _documented(module, path)
    hints = get_type_hints(class_)
    assert {*documented} == {*hints}
    for name, entry in documented.items():
        hint = _known(hints[name])
        assert entry["type"] == _ansible_type(hint), name
        element = get_args(hint)[0] if entry["type"] == "list" else hint
        if entry["type"] == "list":
            assert entry["elements"] == _ansible_type(element), name
        if "choices" in entry:
            words = {word.value for word in element}
            # A module that only plans ends in fewer ways than one that acts.
            plans = module in (leader_candidate_info,) and name == "status"
            assert words.issuperset(entry["choices"]) if plans else words == {*entry["choices"]}, name


@pytest.mark.parametrize("name", [each.name for each in iter_modules(modules.__path__)])
def test_no_result_has_a_name_by_which_ansible_shows_another_state(name: str) -> None:
    """Ansible shows a task whose result has a true value ``skipped`` as a task that did not run."""
    returned = yaml.safe_load(getattr(import_module(f"{modules.__name__}.{name}"), "RETURN", "{}")) or {}
    assert not {"failed", "skipped", "unreachable"} & {*returned}
