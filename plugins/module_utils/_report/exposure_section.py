# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the sections about what recordings of clusters show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._cleaner.diagnosis import HEALTHY_CASES, Case
from .._exposure.report import NOTHING_RECORDED
from .._model.outage import in_words
from .._model.reasons import plural
from .blocks import (
    Block,
    Cell,
    ReportParagraph,
    ReportTable,
    Section,
    first_rows,
    format_ids,
    number_cell,
    partition_cell,
)
from .blocks import in_words as status_words

_Row = Mapping[str, Any]
_BROKER_COLUMNS = (
    "Broker",
    "Rack",
    "At the end",
    "Left",
    "Came back",
    "Away",
    "Longest absence",
    "Lagged, summed over partitions",
    "Partitions that lagged at once",
    "Records that only it held at the worst moment",
    "Partitions",
    "Of them without another answer",
    "When",
)
_DISK_COLUMNS = ("Broker", "Directory", "Free bytes", "Of", "Grows a day", "Full in hours", "Lately", "Full in hours")


def build_exposure_verdict(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say how many partitions were short of in-sync replicas, and what else is not well. Returns sentence and tone."""
    clusters = report["clusters"]
    low, below, offline, unknown = (
        sum(each[f"{name}Partitions"] for each in clusters) for name in ("low", "below", "offline", "unknown")
    )
    gaps = sum(len(each["coverage"]["gaps"]) for each in clusters)
    unseen = sum(not each["coverage"]["snapshots"] for each in clusters)
    empty = sum(not each["partitions"] for each in clusters) - unseen
    # One that is unknown at the end was removed from the cluster.
    away = sum(one["state"] not in {"online", "unknown"} for each in clusters for one in each["brokers"])
    behind = sum(
        one["diagnosis"] not in {*HEALTHY_CASES, Case.UNKNOWN} for each in clusters for one in each["cleaners"]
    )
    full = sum(0 in (one["fullInHours"], one["fullInHoursLately"]) for each in clusters for one in each["disks"])
    text = (
        f"{plural(len(clusters), 'cluster')}: {plural(low, 'partition')} at or below min ISR, {below:,} below it and "
        f"{offline:,} without a leader; {plural(gaps, 'gap')} between snapshots"
        + (f"; {plural(unknown, 'partition', 'were')} in an unknown state for some time" if unknown else "")
        + (f"; {plural(unseen, 'cluster', 'have')} no snapshot in the period" if unseen else "")
        + (f"; {plural(empty, 'cluster', 'have')} no partition in the recordings" if empty else "")
        + (f"; {plural(away, 'broker', 'are')} not online at the end" if away else "")
        + (f"; {plural(full, 'disk', 'are')} full or almost full" if full else "")
        + (f"; {plural(behind, 'log cleaner', 'seem')} to fall behind" if behind else "")
        + "."
    )
    is_doubtful = low or gaps or unknown or unseen or empty or away or behind or report["notes"]
    return text, "bad" if below or offline or full else "warning" if is_doubtful else "good"


def build_exposure_sections(report: Mapping[str, Any]) -> Iterator[Section]:
    """Build a section for each cluster, and one that says how the numbers were made."""
    for cluster in report["clusters"]:
        yield Section(f"Cluster {cluster['clusterId']}", tuple(_cluster(cluster)))
    notes = tuple(ReportParagraph(each, "warning") for each in report["notes"])
    yield Section("How these numbers were made", (*notes, *(ReportParagraph(each) for each in report["methods"])))


def _cluster(cluster: _Row) -> Iterator[Block]:
    yield from _coverage(cluster)
    yield first_rows(
        "Partitions at or below min ISR, worst first",
        ("Partition", "No leader", "Below", "At", "Longest", "Since", "Snapshots", "At the end", "Min ISR", "Replicas"),
        cluster["low"],
        _low,
    )
    yield ReportTable("Brokers", _BROKER_COLUMNS, tuple(map(_broker, cluster["brokers"])))
    yield from _racks(cluster)
    yield ReportTable("Disks", _DISK_COLUMNS, tuple(map(_disk, cluster["disks"])))
    columns = ("Broker", "Case", "Why")
    yield ReportTable("Log cleaners, inferred from sizes", columns, tuple(map(_cleaner, cluster["cleaners"])))
    yield first_rows(
        "Copies of compacted partitions that seem not to be compacted",
        ("Partition", "Broker", "Bytes", "Why"),
        [{**copy, "brokerId": each["brokerId"]} for each in cluster["cleaners"] for copy in each["suspects"]],
        _suspect,
    )


def _coverage(cluster: _Row) -> Iterator[Block]:
    coverage = cluster["coverage"]
    if not coverage["snapshots"]:
        yield ReportParagraph(
            f"No snapshot between {coverage['start']} and {coverage['end']}: nothing is known.", "bad"
        )
        return
    yield ReportParagraph(
        f"{plural(coverage['snapshots'], 'snapshot')} from {coverage['first']} to {coverage['last']}, "
        f"{_duration(coverage['observedSeconds']).text} observed; {plural(cluster['partitions'], 'partition')}."
    )
    gaps = tuple((Cell(each["start"]), Cell(each["end"]), _duration(each["seconds"])) for each in coverage["gaps"])
    yield ReportTable("No snapshot", ("From", "To", "For"), gaps)
    if not cluster["partitions"]:
        yield ReportParagraph(NOTHING_RECORDED, "warning")
    if cluster["unknownPartitions"]:
        count = plural(cluster["unknownPartitions"], "partition")
        yield ReportParagraph(f"The state or min ISR of {count} was unknown for some time.", "warning")


def _low(row: _Row) -> tuple[Cell, ...]:
    return (
        partition_cell(row["topic"], row["partition"]),
        _duration(row["offlineSeconds"], "bad"),
        _duration(row["belowSeconds"], "bad"),
        _duration(row["atSeconds"], "warning"),
        _duration(row["longestSeconds"]),
        Cell(row["longestAt"]),
        number_cell(row["snapshots"]),
        Cell(row["state"]),
        number_cell(row["minIsr"]),
        number_cell(row["replicas"]),
    )


def _broker(row: _Row) -> tuple[Cell, ...]:
    return (
        number_cell(row["brokerId"]),
        Cell(row["rack"] or "none"),
        Cell(row["state"], "" if row["state"] == "online" else "bad"),
        number_cell(row["departures"]),
        number_cell(row["returns"]),
        _duration(row["awaySeconds"]),
        _duration(row["longestAwaySeconds"]),
        _duration(row["lagSeconds"]),
        number_cell(row["mostLagging"]),
        number_cell(row["deathRecords"]),
        number_cell(row["deathPartitions"]),
        number_cell(row["deathOnlyAnswerRecords"]),
        Cell(row["deathAt"] or "never"),
    )


def _racks(cluster: _Row) -> Iterator[Block]:
    if not cluster["racks"]:
        yield ReportParagraph("No broker has a rack (broker.rack), so none protects.", "warning")
        return

    def cells(row: _Row) -> tuple[Cell, ...]:
        return partition_cell(row["topic"], row["partition"]), Cell(row["rack"]), Cell(format_ids(row["brokers"]))

    columns = ("Partition", "Rack", "Brokers")
    yield first_rows("Partitions with all replicas in one rack", columns, cluster["oneRack"], cells)
    if cluster["unknownRackPartitions"]:
        count = plural(cluster["unknownRackPartitions"], "partition")
        yield ReportParagraph(f"The racks of {count} are unknown.", "warning")


def _disk(row: _Row) -> tuple[Cell, ...]:
    return (
        number_cell(row["brokerId"]),
        Cell(row["logDir"]),
        number_cell(row["usableBytes"]),
        number_cell(row["totalBytes"]),
        number_cell(row["growthBytesPerDay"]),
        _full(row, ""),
        number_cell(row["growthBytesPerDayLately"]),
        _full(row, "Lately"),
    )


def _cleaner(row: _Row) -> tuple[Cell, ...]:
    tone = "" if row["diagnosis"] in HEALTHY_CASES else "warning" if row["diagnosis"] == Case.UNKNOWN else "bad"
    return number_cell(row["brokerId"]), Cell(status_words(row["diagnosis"]), tone), Cell(row["reason"])


def _suspect(row: _Row) -> tuple[Cell, ...]:
    return (
        partition_cell(row["topic"], row["partition"]),
        number_cell(row["brokerId"]),
        number_cell(row["sizeBytes"]),
        Cell(row["reason"]),
    )


def _full(row: _Row, suffix: str) -> Cell:
    hours, growth = row[f"fullInHours{suffix}"], row[f"growthBytesPerDay{suffix}"]
    is_known = hours is not None or growth is None or row["usableBytes"] is None
    return number_cell(hours) if is_known else Cell("never")


def _duration(seconds: int, tone: str = "") -> Cell:
    return Cell(in_words(seconds), tone if seconds else "")
