# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and results of the modules quorum_recovery_plan and quorum_recovery. Decides nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import Any

from .._documents.errors import Problem
from .._documents.files import refuse_existing
from .._documents.report_file import ReportFile, write_document
from .._documents.strict_json import read_json
from .._documents.validation import schema_problems
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.run import KafkaOpsError
from .._module.connection import Arguments
from .._module.run import to_json_types
from .apply import ApplyError, FileChange, apply, own_pending, pending_changes
from .continued import BegunRecovery, absent_hosts, continue_recovery
from .copy import LogCopy
from .journal import RecoveryStep
from .look import COPY, OVERTAKEN
from .plan import QUORUM_RECOVERY_PLAN, QuorumDecision, QuorumPlan, decide, decode_plan, encode_plan, with_digest
from .report import QUORUM_RECOVERY_REPORT, Verified, encode_recovery_report, report_of
from .restore import pending_restoration, restore
from .verify import verify
from .words import describe, describe_verified

PLAN = Arguments(
    argument_spec={
        "logs": {"type": "list", "elements": "dict", "required": True},
        "lost_voters": {"type": "list", "elements": "int", "default": []},
        "answered_by_others": {"type": "list", "elements": "int", "default": []},
        "unread": {"type": "dict", "default": {}},
        "plan_file": {"type": "path"},
        "output_file": {"type": "path"},
        "outcome": {"type": "dict"},
        "report_file": {"type": "path"},
        "report_later": {"type": "bool", "default": False},
    }
)
RECOVERY = Arguments(
    argument_spec={
        "plan": {"type": "dict", "required": True},
        "host": {"type": "str", "required": True},
        "backup_dir": {"type": "path"},
        "state": {"type": "str", "choices": ["applied", "restored", "verified"], "default": "applied"},
        "verify_timeout_ms": {"type": "int", "default": 120000},
    }
)


class PlanError(KafkaOpsError):
    """A plan cannot be used. The message says why."""


def plan_results(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Return the results of module quorum_recovery_plan. Raises PlanError or DocumentError."""
    if params["output_file"]:
        refuse_existing(params["output_file"])
    report_file = ReportFile(params["report_file"])
    logs = [each for each in params["logs"] if each.get("log")]
    copies = [COPY.decode(each["log"]) for each in logs]
    decision, is_pending = _decide(params, logs, copies)
    plan = encode_plan(decision.plan) if decision.plan is not None else None
    going = plan if not decision.refusals and not decision.absent else None
    if params["output_file"] and going is not None and not check_mode:
        write_document(params["output_file"], going, QUORUM_RECOVERY_PLAN)
    if going is None or not params["report_later"]:
        report = report_of(copies, decision, _read_outcome(params["outcome"] or {}))
        report_file.write(partial(encode_recovery_report, report), QUORUM_RECOVERY_REPORT)
    return {
        "changed": bool(params["output_file"] and going is not None),
        "plan": plan,
        "is_pending": is_pending,
        "refusals": list(decision.refusals),
        "must_stop": list(decision.must_stop),
        "absent": list(decision.absent),
        "lacking": {each.host: [list(one) for one in each.ranges] for each in decision.beyond},
        "text": describe(copies, decision),
    }


def _decide(params: Mapping[str, Any], logs: Sequence[Any], copies: Sequence[LogCopy]) -> tuple[QuorumDecision, bool]:
    """Return the decision, and whether it is that of a killed run, which is continued."""
    reviewed = _read_plan(params["plan_file"]) if params["plan_file"] else None
    answering = {int(voter): where for each in logs for voter, where in each["answering"].items()}
    others = params["answered_by_others"]
    begun = _begun(logs, copies)
    if begun is not None and not begun.is_over:
        plan = begun.plan
        if reviewed is not None and reviewed.digest != plan.digest:
            raise PlanError(f"a recovery was begun with the plan {plan.digest}, and this is {reviewed.digest}")
        decision = continue_recovery(begun, copies, answering, others)
        absent = tuple(absent_hosts(begun, copies, params["unread"]))
        return replace(decision, notes=(*_unread(params), *decision.notes), absent=absent), True
    said = {
        copy.host: (tuple(each["beyond"]), tuple(map(OVERTAKEN.decode, each["overtaken"])))
        for copy, each in zip(copies, logs, strict=True)
    }
    lost = params["lost_voters"] or (reviewed.lost_voters if reviewed is not None else ())
    decision = decide(copies, lost, answering, said, others)
    if begun is not None and decision.plan is not None:
        decision = replace(decision, plan=with_digest(replace(decision.plan, replaces=begun.plan.digest)))
    if reviewed is not None and decision.plan is not None and reviewed.digest != decision.plan.digest:
        raise PlanError(
            f"{params['plan_file']} is not the plan for what the disks have now: its digest is {reviewed.digest}, and "
            f"that of the present plan {decision.plan.digest}. Make a new plan, and review it"
        )
    return replace(decision, notes=(*_unread(params), *decision.notes)), False


def _begun(logs: Sequence[Any], copies: Sequence[LogCopy]) -> BegunRecovery | None:
    """Return the recovery that was begun on one of the hosts. Raises PlanError."""
    for each, copy in zip(logs, copies, strict=True):
        if each["pending_plan"]:
            return BegunRecovery(parse_plan(each["pending_plan"]), RecoveryStep(each["pending_step"]), copy)
    return None


def _read_outcome(outcome: Mapping[str, Any]) -> Verified | None:
    """Return what the verification found, by its module's results. None if there was none, or it failed."""
    names = {each.name for each in fields(Verified)}
    if not names <= outcome.keys():  # it failed, or its host was away
        return None
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in outcome.items() if name in names
    }
    return Verified(**values)


def _unread(params: Mapping[str, Any]) -> Iterator[str]:
    for host, why in sorted(params["unread"].items()):
        yield f"{host}: nothing could be read: {why}"


def parse_plan(values: Any) -> QuorumPlan:
    """Return the plan in a document whose digest is right. Raises PlanError."""
    problems = schema_problems(values, QUORUM_RECOVERY_PLAN)
    if problems:
        raise PlanError("\n".join(["this is no plan of a quorum's recovery:", *map(str, problems)]))
    plan = decode_plan(values)
    if encode_plan(plan)["digest"] != plan.digest:
        raise PlanError(f"the plan {plan.digest} was changed after it was made. Make a new plan")
    return plan


def _read_plan(path: str) -> QuorumPlan:
    def check(value: Any) -> list[Problem]:
        return schema_problems(value, QUORUM_RECOVERY_PLAN)

    return parse_plan(read_json(path, check, must_be_protected=True))


def apply_results(plan: QuorumPlan, params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Carry out a host's part of the plan, and return the results of module quorum_recovery."""
    host = params["host"]
    changes = pending_changes(plan, host)
    pending = own_pending(plan) if host == plan.host else None
    backup = pending.backup if pending is not None else ""
    if changes and not check_mode:
        with _errors_say_what_to_do(plan):
            backup = apply(plan, host, params["backup_dir"])
    return {"changed": bool(changes), "backup": backup, "diff": _diff(changes)}


def restore_results(plan: QuorumPlan, host: str, *, check_mode: bool) -> dict[str, Any]:
    """Undo a host's part of the plan, and return the results of module quorum_recovery."""
    changes = pending_restoration(plan, host)
    backup = ""
    if changes and not check_mode:
        with _errors_say_what_to_do(plan):
            backup = restore(plan, host)
    return {"changed": bool(changes), "backup": backup, "diff": _diff(changes)}


@contextmanager
def _errors_say_what_to_do(plan: QuorumPlan) -> Iterator[None]:
    """Turn an error of the file system, such as a full disk, into an ApplyError."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename or plan.log_dir}: {error.strerror} (for uid {os.geteuid()})"
        raise ApplyError(f"{where}. Mend this, and run again: what was begun is continued") from None


def _diff(changes: Sequence[FileChange]) -> list[dict[str, str]]:
    return [
        {
            "before_header": each.path,
            "after_header": each.path,
            "before": f"{each.before}\n",
            "after": f"{each.after}\n",
        }
        for each in changes
    ]


def with_survivor(params: Mapping[str, Any], plan: QuorumPlan) -> dict[str, Any]:
    """Return a module's parameters, with the survivor's listener where no address is given."""
    there = [str(Address(each.host, each.port)) for each in plan.endpoints]
    more = {} if params["bootstrap_servers"] or params["command_config"] else {"bootstrap_servers": there}
    if params["controllers_command_config"] and not params["bootstrap_controllers"]:
        more["bootstrap_controllers"] = there
    return {**params, **more}


def verify_results(wire: Wire, plan: QuorumPlan, timeout_ms: int) -> dict[str, Any]:
    """Verify the recovered quorum, and return the results of module quorum_recovery."""
    verified = verify(wire, plan, timeout_ms)
    return {"changed": False, "text": describe_verified(plan, verified), **to_json_types(verified)}
