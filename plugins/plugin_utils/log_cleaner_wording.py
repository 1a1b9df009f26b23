# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules of the log cleaner return, in a person's words. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import (
    Result,
    number,
    partition_name,
    printable,
    size,
)

COLUMNS = ("broker", "before", "after", "threads", "dead", "ms since run", "uncleanable")
WELL = ("healthy", "idle")
_FAILED = ("failed", "stopped")
_QUIET = ("not_needed", "as_wanted")


def broker_rows(before: Result, after: Result) -> Iterator[tuple[str, ...]]:
    """A row of COLUMNS for each broker, with the numbers of the end."""
    earlier = {each["broker_id"]: each for each in before["brokers"]}
    for each in after["brokers"]:
        first = earlier.get(each["broker_id"], each)
        yield (
            str(each["broker_id"]),
            case(first),
            case(each),
            number(each["threads"]),
            number(each["dead_threads"]),
            number(each["time_since_last_run_ms"]),
            _marked(each["log_dirs"]),
        )


def case(broker: Result) -> str:
    """The case, with a question mark where it was inferred."""
    return printable(broker["diagnosis"]).replace("_", " ") + ("?" if broker["is_inferred"] else "")


def reason_lines(after: Result) -> Iterator[str]:
    """Why each broker that is not well is not, with its suspicious copies."""
    for each in after["brokers"]:
        if each["diagnosis"] not in WELL:
            yield printable(f"broker {each['broker_id']}: {case(each)}: {each['reason']}")
        for suspect in each["suspects"]:
            told = f"  suspicious: {partition_name(suspect)} with {size(suspect['size_bytes'])}: {suspect['reason']}"
            yield printable(told)


def action_lines(restart: Result, repair: Result) -> Iterator[str]:
    """What was done, or would be, a line each."""
    for each in (*restart.get("leftovers", []), *repair.get("leftovers", [])):
        yield printable(f"an earlier run's {each['change']}: {each['undoing'].replace('_', ' ')}: {each['reason']}")
    for each in restart.get("outcomes", []):
        if each["status"] not in _QUIET:
            yield printable(f"broker {each['broker_id']}: restart: {_status(each)}: {each['reason']}")
    for each in repair.get("outcomes", []):
        sizes = f" ({size(each['size_before'])} → {size(each['size_after'])})" if each["size_after"] is not None else ""
        where = f"{partition_name(each)} on broker {each['broker_id']}"
        yield printable(f"{where}: repair: {_status(each)}{sizes}: {each['reason']}")
    for text in repair.get("untold", []):
        yield printable(text)


def failure(restart: Result, repair: Result, after: Result, *, fail_on_unwell: bool) -> str:
    """Why the play fails, in one sentence; empty when it does not."""
    sentences = []
    failed = [each for each in (*restart.get("outcomes", []), *repair.get("outcomes", [])) if each["status"] in _FAILED]
    stuck = [
        each for each in (*restart.get("leftovers", []), *repair.get("leftovers", [])) if each["undoing"] == "failed"
    ]
    if failed:
        sentences.append(f"{len(failed)} restarts or repairs failed")
    if stuck:
        sentences.append(f"{len(stuck)} changes of an earlier run are not put back")
    unwell = [each for each in after["brokers"] if each["diagnosis"] not in WELL]
    if unwell and fail_on_unwell:
        named = ", ".join(f"broker {each['broker_id']} ({case(each)})" for each in unwell)
        sentences.append(f"not well: {named}")
    return "; ".join([*sentences, "the reasons are above"]) if sentences else ""


def _status(outcome: Result) -> str:
    return printable(outcome["status"]).replace("_", " ")


def _marked(log_dirs: Sequence[Result]) -> str:
    counts = [each["uncleanable_partitions"] for each in log_dirs]
    return "-" if not counts or None in counts else str(sum(counts))
