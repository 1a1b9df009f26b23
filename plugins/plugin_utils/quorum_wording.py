# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What quorum_info returns, in a person's words. Standard library only."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result, number, printable

COLUMNS = (
    "node",
    "role",
    "LEO",
    "records behind",
    "ms behind",
    "ms since fetch",
    "caught up",
    "Pre-Vote",
    "may restart",
)
_SEVERITIES = ("critical", "warning", "info")


def quorum_line(told: Result) -> str:
    """The quorum in one line."""
    leader = "no leader" if told["leader_id"] is None else f"leader {told['leader_id']}, epoch {told['leader_epoch']}"
    kind = {None: "kind unknown", 0: "static"}.get(told["kraft_version"], "dynamic")
    return (
        f"quorum: {leader}, high watermark {number(told['high_watermark'])}, {kind} voters, metadata.version "
        f"{number(told['metadata_version'])}, fetch timeout {number(told['fetch_timeout_ms'])} ms, election timeout "
        f"{number(told['election_timeout_ms'])} ms"
    )


def member_rows(told: Result) -> Iterator[tuple[str, ...]]:
    """A row of COLUMNS for each voter and observer, and for each controller that is known to be neither."""
    controllers = {each["node_id"]: each for each in told["controllers"]}
    restart = {each["node_id"]: each["allowed"] for each in told["verdicts"]["restart"]}
    members = [("voter", each) for each in told["voters"]] + [("observer", each) for each in told["observers"]]
    for role, each in members:
        node_id = each["replica_id"]
        yield (
            str(node_id),
            "leader" if role == "voter" and node_id == told["leader_id"] else role,
            number(each["log_end_offset"]),
            number(each["lag_records"]),
            number(each["lag_ms"]),
            number(each["since_fetch_ms"]),
            yes_or_no(each["is_caught_up"]),
            yes_or_no(controllers.get(node_id, {}).get("supports_pre_vote")),
            yes_or_no(restart.get(node_id) if role == "voter" else None),
        )
    known = {each["replica_id"] for _role, each in members}
    for each in told["controllers"]:
        if each["node_id"] not in known:
            name = printable(each["address"]) if each["node_id"] is None else str(each["node_id"])
            state = "unknown" if each["cause"] is None else printable(each["cause"])
            yield (name, state, *["-"] * (len(COLUMNS) - 4), yes_or_no(each["supports_pre_vote"]), "-")


def finding_lines(told: Result, width: int) -> Iterator[str]:
    """What was found: a head line each, and the rest below it, indented."""
    for each in told["findings"]:
        about = _counted("controller", each["node_ids"]) + ": " if each["node_ids"] else ""
        yield printable(f"{each['severity']}: {about}{_kind(each)}")
        numbers = ", ".join(f"{name} {_shown(value)}" for name, value in each["evidence"].items())
        for text in (f"found: {numbers}", f"means: {each['meaning']}", f"do: {each['remedy']}"):
            yield from textwrap.wrap(printable(text), max(width, 40), initial_indent="  ", subsequent_indent="    ")


def verdict_lines(told: Result) -> Iterator[str]:
    """The verdicts, with every reason."""
    verdicts = told["verdicts"]
    yield from _verdict("elections may be asked for", "elections must not be asked for", verdicts["elections"])
    for each in verdicts["restart"]:
        if not each["allowed"]:
            yield from _verdict("", f"controller {each['node_id']} must not be restarted", each)
    yield from _verdicts("voter", "removed", verdicts["removal"])
    yield from _verdicts("controller", "added as voter", verdicts["addition"])


def failure(told: Result, fail_on: str) -> str:
    """Why a scheduled job should fail, in one sentence; empty when it should not."""
    counted = _SEVERITIES[: _SEVERITIES.index(fail_on) + 1]
    grave = [each for each in told["findings"] if each["severity"] in counted]
    sentences = [printable(reason) for reason in told["verdicts"]["elections"]["reasons"]]
    if grave:
        kinds = ", ".join(dict.fromkeys(map(_kind, grave)))
        sentences.append(f"{fail_on if fail_on == _SEVERITIES[0] else f'{fail_on} or worse'}: {kinds}")
    return "; ".join(sentences)


def yes_or_no(value: bool | None) -> str:
    return {None: "-", True: "yes", False: "no"}[value]


def _kind(finding: Result) -> str:
    return printable(finding["kind"]).replace("_", " ")


def _counted(noun: str, node_ids: Sequence[int]) -> str:
    return f"{noun}{'' if len(node_ids) == 1 else 's'} {', '.join(map(str, node_ids))}"


def _verdict(allowed: str, refused: str, verdict: Result) -> Iterator[str]:
    yield allowed if verdict["allowed"] else f"{refused}:"
    for reason in verdict["reasons"]:
        yield printable(f"  {reason}")


def _verdicts(noun: str, done: str, verdicts: Sequence[Result]) -> Iterator[str]:
    """Those with the same reasons together: what speaks against one often speaks against all."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for each in verdicts:
        alike.setdefault(tuple(each["reasons"]), []).append(each["node_id"])
    for reasons, node_ids in alike.items():
        about = _counted(noun, node_ids)
        allowed = f"{about} may be {done}" + ("" if len(node_ids) == 1 else ", one of them")
        yield from _verdict(allowed, f"{about} must not be {done}", {"allowed": not reasons, "reasons": reasons})


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
