# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the sections about one salvage of a broker's disks, and about one replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._model.log_contents import offset_range
from .._model.reasons import plural
from .._salvage.finding import NOT_COMPARED, SalvageStatus
from .._salvage.replayed import ReplayStatus, describe_left_out
from .blocks import Block, Cell, ReportParagraph, Section, first_rows, in_words, number_cell, partition_cell

_Document = Mapping[str, Any]
_TONES = {
    SalvageStatus.SAVED: "good",
    SalvageStatus.WOULD_BE_SAVED: "warning",
    SalvageStatus.ALREADY_SAVED: "good",
    SalvageStatus.NOTHING_LACKING: "good",
    SalvageStatus.LEFT_ALONE: "warning",
    SalvageStatus.FAILED: "bad",
    ReplayStatus.GIVEN_BACK: "good",
    ReplayStatus.WOULD_BE_GIVEN_BACK: "warning",
    ReplayStatus.NOTHING_LEFT: "good",
    ReplayStatus.NEVER_REPLAYED: "warning",
    ReplayStatus.REFUSED: "bad",
}


def build_disk_verdict(report: _Document) -> tuple[str, str]:
    """Say which records only the disks hold. Returns the sentence and its tone."""
    partitions = report["partitions"]
    saved = sum(each["saved"]["records"] for each in partitions if each["saved"] is not None)
    statuses = Counter(each["status"] for each in partitions)
    failed, pending = statuses[SalvageStatus.FAILED], statuses[SalvageStatus.WOULD_BE_SAVED]
    lacking = plural(sum(_offsets(each["lost"]) for each in partitions), "offset")
    sentences = [
        f"The cluster lacks {'at least ' if failed else ''}{lacking} that the disks of broker {report['brokerId']} "
        f"have; {plural(saved, 'record')} saved."
    ]
    sentences += [f"{plural(pending, 'partition')} would be saved."] if pending else []
    sentences += [f"{plural(failed, 'partition')} failed."] if failed else []
    return " ".join(sentences), "bad" if failed else "warning" if pending else "good"


def build_replay_verdict(report: _Document) -> tuple[str, str]:
    """Say how many records were given back. Returns the sentence and its tone."""
    partitions = report["partitions"]
    saved, to_give, given = (sum(each[name] for each in partitions) for name in ("saved", "toGive", "given"))
    # Of these records: givenBefore is also about records that only other salvages have.
    before = report["account"]["total"]["givenBack"] - given
    statuses = Counter(each["status"] for each in partitions)
    pending = statuses[ReplayStatus.WOULD_BE_GIVEN_BACK]
    undone = statuses[ReplayStatus.REFUSED] + statuses[ReplayStatus.FAILED]
    done = f"{to_give:,} would be given back" if pending else f"{given:,} were given back"
    sentences = [f"Of {plural(saved, 'saved record')}, {done}" + (f", {before:,} before." if before else ".")]
    sentences += [f"{plural(undone, 'partition')} not done."] if undone else []
    return " ".join(sentences), "bad" if undone else "warning" if pending else "good"


def build_disk_section(report: _Document) -> Section:
    """Build the section about a broker's disks: what the cluster lacks, what is damaged, newer commits of groups."""
    partitions = report["partitions"]
    listed = [each for each in partitions if each["status"] != SalvageStatus.NOTHING_LACKING or each["damages"]]
    damages = [(each, one) for each in partitions for one in each["damages"]]
    before_start = [each for each in partitions if each["beforeLogStart"]]
    sentence, tone = build_disk_verdict(report)
    blocks: list[Block] = [
        ReportParagraph(sentence, tone),
        ReportParagraph(f"Read: {', '.join(report['logDirs'])}. Saved to: {report['salvageDir']}."),
        first_rows(
            f"{len(listed):,} of {plural(len(partitions), 'replica')}; the cluster lacks nothing of the others",
            (
                "Partition",
                "Status",
                "Cluster lacks",
                "Offsets",
                "Records saved",
                "Aborted",
                "Outcome unknown",
                "In no readable batch",
                "Reason",
            ),
            listed,
            _disk_row,
        ),
    ]
    if before_start:
        caption = "Before the leader's log start: not saved, and unknown whether the leader ever held them"
        blocks.append(first_rows(caption, ("Partition", "Offsets"), before_start, _before_start_row))
    if damages:
        columns = ("Partition", "File", "Damage", "Position", "Bytes", "Between offsets")
        blocks.append(first_rows("Damaged or unreadable", columns, damages, _damage_row))
    if report["newerCommits"]:
        caption = "Groups whose saved committed offset is higher than the cluster's"
        blocks.append(
            first_rows(
                caption, ("Group", "Partition", "On the disk", "In the cluster"), report["newerCommits"], _commit_row
            )
        )
    return Section(f"Disks of broker {report['brokerId']}", tuple(blocks))


def build_replay_section(report: _Document) -> Section:
    """Build the section about a replay, with one row per partition."""
    sentence, tone = build_replay_verdict(report)
    to = "side topics" if report["target"] == "side" else "the topics that they came from"
    columns = ("Partition", "Status", "Written to", "Saved", "To give", "Given back", "Before", "Left out", "Reason")
    return Section(
        "Records given back",
        (
            ReportParagraph(sentence, tone),
            ReportParagraph(f"From {report['salvageDir']} to {to}."),
            first_rows(
                f"Results of {plural(len(report['partitions']), 'partition')}",
                columns,
                report["partitions"],
                _replay_row,
            ),
        ),
    )


def _disk_row(each: _Document) -> tuple[Cell, ...]:
    saved, is_compared = each["saved"], bool(each["lost"]) or each["status"] not in NOT_COMPARED
    counts = [None if saved is None else saved[name] for name in ("records", "aborted", "unknown")]
    return (
        _partition(each),
        _status(each),
        Cell(_ranges(each["lost"]) or ("nothing" if is_compared else "unknown")),
        number_cell(_offsets(each["lost"]) if is_compared else None),
        *(Cell("none", is_number=True) if count is None else number_cell(count) for count in counts),
        Cell(_ranges(each["unreadable"]) or "none", "bad" if each["unreadable"] else ""),
        Cell(each["reason"] or "none"),
    )


def _before_start_row(each: _Document) -> tuple[Cell, ...]:
    return _partition(each), Cell(_ranges(each["beforeLogStart"]))


def _damage_row(found: tuple[_Document, _Document]) -> tuple[Cell, ...]:
    partition, file = found
    damage = file["damage"]
    end = "the end" if damage["toOffset"] is None else f"{damage['toOffset']:,}"
    return (
        _partition(partition),
        Cell(file["path"]),
        Cell(in_words(damage["kind"]), "bad"),
        number_cell(damage["position"]),
        number_cell(damage["size"]),
        Cell(f"{damage['fromOffset']:,} and {end}"),
    )


def _commit_row(each: _Document) -> tuple[Cell, ...]:
    return Cell(each["group"]), _partition(each), number_cell(each["savedOffset"]), number_cell(each["committedOffset"])


def _replay_row(each: _Document) -> tuple[Cell, ...]:
    return (
        _partition(each),
        _status(each),
        Cell(each["targetTopic"]),
        *(number_cell(each[name]) for name in ("saved", "toGive", "given", "givenBefore")),
        Cell(describe_left_out(each["leftOut"]) or "none"),
        Cell(each["reason"] or "none"),
    )


def _partition(each: _Document) -> Cell:
    return partition_cell(each["topic"], each["partition"])


def _status(each: _Document) -> Cell:
    return Cell(in_words(each["status"]), _TONES.get(each["status"], "bad"))


def _ranges(stretches: Sequence[Sequence[int]]) -> str:
    return ", ".join(f"{offset_range(start, end, ',')} (epoch {epoch})" for epoch, start, end in stretches)


def _offsets(stretches: Sequence[Sequence[int]]) -> int:
    return sum(end - start for _epoch, start, end in stretches)
