# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the state of the controller quorum. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import grouped
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import named, plural

from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table
from .words import Result, number, words

_COLUMNS = (
    "Node",
    "Role",
    "LEO",
    "Records behind",
    "ms behind",
    "ms since fetch",
    "Caught up",
    "Pre-Vote",
    "May restart",
)
_SEVERITIES = ("critical", "warning", "info")
_STYLES = {"critical": "bold red", "warning": "bold yellow", "info": ""}
_SILENT_COLUMNS = 5
"""Number of cells about the log. A controller that is not a member has none."""


def blocks(result: Result) -> Iterator[Block]:
    """Return all blocks: the verdict, findings with their remedies, allowed actions, and the members."""
    yield Paragraph(verdict(result), "bold")
    yield Paragraph(quorum_line(result))
    if result["findings"]:
        yield Heading("Findings")
        yield Entries(tuple(map(_finding, result["findings"])))
    yield Heading("Allowed actions")
    yield Entries(tuple(verdict_entries(result)))
    rows = tuple(member_rows(result))
    if rows:
        yield Heading("Members")
        yield Table(_COLUMNS, rows, texts=("Role",))


def verdict(result: Result) -> str:
    """Say whether elections may be requested, and how many findings there are."""
    elections = "may" if result["verdicts"]["elections"]["allowed"] else "must not"
    counts = [
        f"{plural(number_of, 'finding')} ({severity})"
        for severity in _SEVERITIES
        if (number_of := sum(each["severity"] == severity for each in result["findings"]))
    ]
    return f"Elections {elections} be requested; {', '.join(counts) or 'nothing is wrong with the quorum'}."


def quorum_line(result: Result) -> str:
    """Return the quorum in one line."""
    leader = "no leader" if result["leader_id"] is None else f"leader {result['leader_id']}"
    epoch = "" if result["leader_epoch"] is None else f", epoch {result['leader_epoch']}"
    kind = {None: "kind unknown", 0: "static"}.get(result["kraft_version"], "dynamic")
    return (
        f"Quorum: {leader}{epoch}, high watermark {number(result['high_watermark'])}, {kind} voters, "
        f"metadata.version {number(result['metadata_version'])}, "
        f"fetch timeout {number(result['fetch_timeout_ms'])} ms, "
        f"election timeout {number(result['election_timeout_ms'])} ms"
    )


def member_rows(result: Result) -> Iterator[Row]:
    """Return a row for each voter and observer, and for each controller that is known to be neither."""
    controllers = {each["node_id"]: each for each in result["controllers"]}
    restart = {each["node_id"]: each["allowed"] for each in result["verdicts"]["restart"]}
    members = [("voter", each) for each in result["voters"]] + [("observer", each) for each in result["observers"]]
    for role, each in members:
        node_id = each["replica_id"]
        cells = (
            str(node_id),
            "leader" if role == "voter" and node_id == result["leader_id"] else role,
            number(each["log_end_offset"]),
            number(each["lag_records"]),
            number(each["lag_ms"]),
            number(each["since_fetch_ms"]),
            yes_or_no(each["is_caught_up"]),
            yes_or_no(controllers.get(node_id, {}).get("supports_pre_vote")),
            yes_or_no(restart.get(node_id) if role == "voter" else None),
        )
        yield Row(cells, style="" if each["is_caught_up"] else "bold yellow")
    known = {each["replica_id"] for _role, each in members}
    for each in result["controllers"]:
        if each["node_id"] not in known:
            name = each["address"] if each["node_id"] is None else str(each["node_id"])
            state = "unknown" if each["cause"] is None else words(each["cause"])
            silent = ["-"] * _SILENT_COLUMNS
            yield Row((name, state, *silent, yes_or_no(each["supports_pre_vote"]), "-"), style="bold yellow")


def verdict_entries(result: Result) -> Iterator[Entry]:
    """Return the verdicts, with every reason. Nodes with the same verdict are named together."""
    verdicts = result["verdicts"]
    yield _entry("elections", "may be requested", "must not be requested", verdicts["elections"]["reasons"])
    refused = [each for each in verdicts["restart"] if not each["allowed"]]
    yield from _verdicts("controller", "restarted", refused)
    yield from _verdicts("voter", "removed", verdicts["removal"])
    yield from _verdicts("controller", "added as voter", verdicts["addition"])


def failure(result: Result, fail_on: str) -> str:
    """Return why a scheduled job should fail, in one sentence; empty if it should not."""
    included = _SEVERITIES[: _SEVERITIES.index(fail_on) + 1]
    grave = [each for each in result["findings"] if each["severity"] in included]
    sentences = [str(reason) for reason in result["verdicts"]["elections"]["reasons"]]
    if grave:
        kinds = ", ".join(dict.fromkeys(words(each["kind"]) for each in grave))
        sentences.append(f"{fail_on if fail_on == _SEVERITIES[0] else f'{fail_on} or worse'}: {kinds}")
    return "; ".join(sentences)


def yes_or_no(value: bool | None) -> str:
    return {None: "-", True: "yes", False: "no"}[value]


def _finding(finding: Result) -> Entry:
    about = f" ({_nodes('controller', finding['node_ids'])})" if finding["node_ids"] else ""
    found = ", ".join(f"{name} {_shown(value)}" for name, value in finding["evidence"].items())
    lines = (
        f"{words(finding['kind'])}{about}",
        f"found: {found}",
        f"means: {finding['meaning']}",
        f"do: {finding['remedy']}",
    )
    return Entry(finding["severity"], lines, _STYLES[finding["severity"]])


def _verdicts(noun: str, done: str, verdicts: Sequence[Result]) -> Iterator[Entry]:
    """Return entries for verdicts. Nodes with the same reasons share an entry."""
    for reasons, node_ids in grouped((tuple(each["reasons"]), each["node_id"]) for each in verdicts).items():
        allowed = f"may be {done}" + ("" if len(node_ids) == 1 else ", one of them")
        yield _entry(_nodes(noun, node_ids), allowed, f"must not be {done}", reasons)


def _entry(label: str, allowed: str, refused: str, reasons: Sequence[str]) -> Entry:
    return Entry(label, (refused, *reasons) if reasons else (allowed,), "bold yellow" if reasons else "")


def _nodes(noun: str, node_ids: Sequence[int]) -> str:
    return named(noun, node_ids, len(node_ids))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
