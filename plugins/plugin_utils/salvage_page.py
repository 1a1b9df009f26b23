# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the outcome of a salvage of disks, or of a replay. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import offset_range
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import grouped
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import plural
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import describe_left_out

from .account_page import account_blocks
from .alike import fold_entries, name_partitions, which_partitions
from .page import Block, Entries, Entry, Heading, Paragraph
from .words import Result, printable, size, span, words

_BAD = ("failed", "refused")
_SHOWN = 50
_SHOWN_DAMAGES = 5
_REPLAYED = ("nothing_left", "given_back")
"""Statuses of a replay without an entry of their own: the account has their numbers."""
_ABSENT = {
    "no_topic": "of topics that the cluster does not have",
    "other_topic": "of topics that were re-created with another id",
    "other_cluster": "of another cluster",
    "no_partition": "of partitions that the cluster does not have",
}
_WHERE = {"side": "side topics (TOPIC.salvaged)", "original": "the topics that they came from"}


def disk_blocks(result: Result) -> Iterator[Block]:
    """Return the verdict on a salvage of disks, the account, and each partition that a person must check."""
    yield Paragraph(_disk_verdict(result), "bold")
    yield from account_blocks(result["account"])
    listed = [each for each in result["partitions"] if each["status"] != "nothing_lacking" or each["damages"]]
    yield from _partition_entries(listed, _disk_lines)
    commits = result.get("newer_commits", ())
    if commits:
        yield Heading("Groups whose saved committed offset is higher than the cluster's")
        shown = [*grouped((each["group"], each) for each in commits).items()][:_SHOWN]
        yield Entries(tuple(Entry(printable(group), tuple(_commits(of))) for group, of in shown))
        if left := result["newer_commits_total"] - sum(len(of) for _group, of in shown):
            yield Paragraph(f"and {plural(left, 'more committed offset')}; the report file has all of them")
        yield Paragraph(
            "They get these offsets back from playbook kafkaops.recovery.restore_groups, with "
            f"group_recovery_salvage_dir={printable(result['salvage_dir'] or 'DIR')}."
        )


def replay_blocks(result: Result) -> Iterator[Block]:
    """Return the verdict on a replay, the account, and each partition that a person must check."""
    yield Paragraph(_replay_verdict(result), "bold")
    yield from account_blocks(result["account"])
    listed = [each for each in result["partitions"] if each["status"] not in _REPLAYED or each["left_out"]]
    yield from _partition_entries(listed, _replay_lines)


def _partition_entries(listed: Sequence[Result], lines: Callable[[Result], Iterable[str]]) -> Iterator[Block]:
    """Return the first of the partitions that a person must check, and how many more there are."""
    if listed:
        yield Heading("Partitions")
        entries = ((each, [*lines(each)], "bold red" if each["status"] in _BAD else "") for each in listed[:_SHOWN])
        yield Entries(tuple(fold_entries(entries, name_partitions)))
    if len(listed) > _SHOWN:
        yield Paragraph(f"and {len(listed) - _SHOWN} more; the report file has all of them")


def _disk_verdict(result: Result) -> str:
    summary = result["summary"]
    saved = "nothing was saved"
    if result["salvage_id"]:
        records = plural(summary["saved_records"], "record")
        saved = f"{records} ({size(summary['saved_bytes'])}) saved in {result['salvage_dir']}"
    unreadable = f", {summary['unreadable_offsets']} of them in no readable batch"
    alone = [
        f"{plural(count, 'offset')} {_ABSENT[why]}"
        for why, count in summary["left_alone"].items()
        if count and why in _ABSENT
    ]
    apart = f" Left alone: {', '.join(alone)}; log_salvage_include_absent_topics saves them." if alone else ""
    if count := summary["left_alone"].get("named_alike"):
        apart += f" Left alone: {plural(count, 'offset')} of topics with the name of one that was saved: see below."
    lost, failed = summary["lost_offsets"], summary["statuses"].get("failed", 0)
    lacks = f"lacks {'at least ' if failed else ''}{plural(lost, 'offset')}"
    if failed and not lost:
        lacks = f"may lack offsets of {plural(failed, 'partition')}"
    return (
        f"The cluster {lacks} that the disks of broker {result['broker_id']} have"
        f"{unreadable if summary['unreadable_offsets'] else ''}; {saved}.{apart}"
    )


def _disk_lines(each: Result) -> Iterator[str]:
    saved = each["saved"]
    what = [f"{plural(saved['records'], 'record')}, {size(saved['bytes'])}"] if saved else []
    yield ": ".join([words(each["status"]), *what, *([each["reason"]] if each["reason"] else [])])
    if each["lost"]:
        yield f"the cluster lacks {_ranges(each['lost'])}"
    if saved and (saved["committed"] or saved["aborted"] or saved["unknown"]):
        yield (
            f"of transactions: {saved['committed']} committed, {saved['aborted']} aborted, {saved['unknown']} with "
            "an unknown outcome"
        )
    if each["unreadable"]:
        yield f"no readable batch has {_ranges(each['unreadable'])}"
    if each["before_log_start"]:
        yield (
            f"before the leader's log start: {_ranges(each['before_log_start'])}; it is unknown whether the leader "
            "ever held this, and it is not saved"
        )
    for damage in each["damages"][:_SHOWN_DAMAGES]:
        found = damage["damage"]
        end = "the end" if found["to_offset"] is None else f"offset {found['to_offset']}"
        yield (
            f"{words(found['kind'])} in {damage['path']}: {found['size']} bytes at {found['position']}, between offset "
            f"{found['from_offset']} and {end}"
        )
    if len(each["damages"]) > _SHOWN_DAMAGES:
        yield f"and {len(each['damages']) - _SHOWN_DAMAGES} more damaged places"


def _commits(of_group: Sequence[Result]) -> Iterator[str]:
    for of_topic in grouped((each["topic"], each) for each in of_group).values():
        saved = span([each["saved_offset"] for each in of_topic])
        now = span([each["committed_offset"] for each in of_topic], "none")
        yield f"{which_partitions(of_topic)}: offset {saved} on the disk, {now} in the cluster"


def _ranges(stretches: Sequence[Result]) -> str:
    return ", ".join(map(_range, stretches))


def _range(stretch: Result) -> str:
    start, end = stretch["start_offset"], stretch["end_offset"]
    return f"offset{'' if end == start + 1 else 's'} {offset_range(start, end)} (epoch {stretch['epoch']})"


def _replay_verdict(result: Result) -> str:
    summary = result["summary"]
    if summary["statuses"].get("would_be_given_back"):
        done = f"{summary['to_give']:,} would be given back"
    else:
        given = summary["given"]
        done = f"{given:,} ({size(summary['given_bytes'])}) {'was' if given == 1 else 'were'} given back"
    # Of these records. The summary's number is also about records that only other salvages have.
    given_before = result["account"]["total"]["given_back"] - summary["given"]
    before = f", and {given_before:,} before" if given_before else ""
    left_out = describe_left_out(summary["left_out"])
    rest = f"; left out: {left_out}" if left_out else ""
    return f"Of {plural(summary['saved'], 'saved record')}, {done} to {_WHERE[result['target']]}{before}{rest}."


def _replay_lines(each: Result) -> Iterator[str]:
    reason = f": {printable(each['reason'])}" if each["reason"] else ""
    yield f"{words(each['status'])}{reason}"
    if each["given"]:
        yield f"{plural(each['given'], 'record')}, {size(each['given_bytes'])}, given back to {each['target_topic']}"
    elif each["to_give"]:
        yield f"{plural(each['to_give'], 'record')} for {each['target_topic']}"
    if each["given_before"]:
        yield f"{plural(each['given_before'], 'record')} given back before, from all salvages of the partition"
    left_out = describe_left_out(each["left_out"])
    if left_out:
        yield f"left out: {left_out}"
