# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print what recordings of clusters show. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import HEALTHY_CASES, Case
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.report import NOTHING_RECORDED
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import in_words
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import plural

from .alike import fold_rows, name_brokers
from .cleaner_page import suspicious_copy
from .page import Block, Entries, Entry, Heading, Paragraph, Row, Table, not_shown
from .words import Result, broker_ids, partition_name, size, words

_MOST_ROWS = 20
_HOURS_OF_DAY = 24


def blocks(result: Result) -> Iterator[Block]:
    """Return the blocks of all clusters."""
    for cluster in result["clusters"]:
        yield from _cluster(cluster)
    for each in result["notes"]:
        yield Paragraph(each)
    yield Heading("How these numbers were made")
    for each in result["methods"]:
        yield Paragraph(each, indent=2)


def verdict(cluster: Result) -> str:
    """Say in one sentence what a person should look at first."""
    flapping = sum(each["returns"] > 0 for each in cluster["brokers"])
    behind = sum(each["diagnosis"] not in {*HEALTHY_CASES, Case.UNKNOWN} for each in cluster["cleaners"])
    hours = (each[f"full_in_hours{rate}"] for each in cluster["disks"] for rate in ("", "_lately"))
    known = [each for each in hours if each is not None]
    return (
        f"Cluster {cluster['cluster_id']}: of {plural(cluster['partitions'], 'partition')}, "
        f"{cluster['low_partitions']} were at or below min ISR ({cluster['below_partitions']} below, "
        f"{cluster['offline_partitions']} without a leader); "
        f"{plural(flapping, 'broker')} left and came back; "
        f"{plural(len(cluster['coverage']['gaps']), 'gap')} between snapshots"
        + (f"; {plural(behind, 'log cleaner', 'seem')} to fall behind" if behind else "")
        + (f"; the first disk is full in {_days(min(known))}" if known else "")
        + "."
    )


def _cluster(cluster: Result) -> Iterator[Block]:
    yield Paragraph(verdict(cluster), "bold")
    yield from _coverage(cluster["coverage"], cluster["partitions"], cluster["unknown_partitions"])
    if cluster["low"]:
        yield Heading("Partitions at or below min ISR")
        yield _low(cluster["low"][:_MOST_ROWS])
        yield from not_shown(min(len(cluster["low"]), _MOST_ROWS), cluster["low_partitions"])
    if cluster["brokers"]:
        yield Heading("Brokers")
        yield _brokers(cluster["brokers"])
    yield Heading("Racks that do not protect")
    yield from _racks(cluster)
    if cluster["disks"]:
        yield Heading("Disks")
        yield _disks(cluster["disks"])
    if cluster["cleaners"]:
        yield Heading("Log cleaners, inferred from sizes")
        yield _cleaners(cluster["cleaners"])


def _coverage(coverage: Result, partitions: int, unknown: int) -> Iterator[Block]:
    if not coverage["snapshots"]:
        text = f"No snapshot between {coverage['start']} and {coverage['end']}: nothing is known."
        yield Paragraph(text, "bold yellow")
        return
    yield Paragraph(
        f"{plural(coverage['snapshots'], 'snapshot')} from {coverage['first']} to {coverage['last']}; "
        f"{in_words(coverage['observed_seconds'])} observed.",
        indent=2,
    )
    gaps = [
        Entry(
            "no snapshot", (f"between {each['start']} and {each['end']} ({in_words(each['seconds'])})",), "bold yellow"
        )
        for each in coverage["gaps"][:_MOST_ROWS]
    ]
    if gaps:
        yield Entries(tuple(gaps))
        yield from not_shown(len(gaps), len(coverage["gaps"]))
    if not partitions:
        yield Paragraph(NOTHING_RECORDED, "bold yellow", indent=2)
    if unknown:
        yield Paragraph(f"The state or min ISR of {plural(unknown, 'partition')} was unknown for some time.", indent=2)


def _low(low: Sequence[Result]) -> Table:
    columns = ("Partition", "No leader", "Below", "At", "Longest", "Since", "Snapshots", "Now", "Min ISR", "Replicas")
    rows = []
    for each in low:
        cells = (
            partition_name(each),
            *(in_words(each[f"{kind}_seconds"]) for kind in ("offline", "below", "at", "longest")),
            _minute(each["longest_at"]),
            str(each["snapshots"]),
            words(each["state"]),
            "unknown" if each["min_isr"] is None else str(each["min_isr"]),
            str(each["replicas"]),
        )
        rows.append(Row(cells, style="bold yellow" if each["state"] in {"offline", "below"} else ""))
    return Table(columns, tuple(rows), texts=("Partition", "Since", "Now"))


def _brokers(brokers: Sequence[Result]) -> Table:
    columns = (
        "Broker",
        "Now",
        "Left",
        "Back",
        "Away",
        "Longest",
        "Lagged",
        "At once",
        "Only copy",
        "Partitions",
        "When",
    )
    rows = tuple(
        Row(
            (
                str(each["broker_id"]),
                words(each["state"]),
                str(each["departures"]),
                str(each["returns"]),
                in_words(each["away_seconds"]),
                in_words(each["longest_away_seconds"]),
                in_words(each["lag_seconds"]),
                str(each["most_lagging"]),
                f"{each['death_records']:,}",
                str(each["death_partitions"]),
                _minute(each["death_at"]),
            ),
            style="" if each["state"] == "online" else "bold yellow",
        )
        for each in brokers
    )
    return Table(columns, rows, texts=("Now", "When"))


def _racks(cluster: Result) -> Iterator[Block]:
    if not cluster["racks"]:
        yield Paragraph("No broker has a rack (broker.rack), so none protects.", indent=2)
        return
    text = f"{plural(cluster['one_rack_partitions'], 'partition')} with all replicas in one rack"
    unknown = cluster["unknown_rack_partitions"]
    yield Paragraph(f"{text}; {unknown} more have a broker whose rack is unknown" if unknown else text, indent=2)
    if cluster["one_rack"]:
        rows = tuple(
            Row((partition_name(each), each["rack"], broker_ids(each["brokers"])))
            for each in cluster["one_rack"][:_MOST_ROWS]
        )
        yield Table(("Partition", "Rack", "Brokers"), rows, texts=("Partition", "Rack", "Brokers"))
        yield from not_shown(len(rows), cluster["one_rack_partitions"])


def _disks(disks: Sequence[Result]) -> Table:
    columns = ("Broker", "Directory", "Free", "Of", "Grows a day", "Full in", "By the last day", "Full")
    rows = tuple(
        Row(
            (
                str(each["broker_id"]),
                each["log_dir"],
                "unknown" if each["usable_bytes"] is None else size(each["usable_bytes"]),
                "unknown" if each["total_bytes"] is None else size(each["total_bytes"]),
                _growth(each["growth_bytes_per_day"]),
                _full(each, ""),
                _growth(each["growth_bytes_per_day_lately"]),
                _full(each, "_lately"),
            )
        )
        for each in disks
    )
    return Table(columns, rows, texts=("Directory",))


def _cleaners(cleaners: Sequence[Result]) -> Table:
    rows = []
    for each in cleaners:
        copies = [suspicious_copy(one) for one in each["suspects"][:_MOST_ROWS]]
        more = len(each["suspects"]) - len(copies)
        prose = "; ".join([each["reason"], *copies, *([f"{more:,} more"] if more else [])])
        style = "" if each["diagnosis"] in HEALTHY_CASES else "bold yellow"
        rows.append((each["broker_id"], [Row((words(each["diagnosis"]),), prose, style)]))
    return Table(("Broker", "Diagnosis"), fold_rows(rows, name_brokers), "Reason", texts=("Broker", "Diagnosis"))


def _growth(per_day: int | None) -> str:
    if per_day is None:
        return "unknown"
    return size(per_day) if per_day >= 0 else f"-{size(-per_day)}"


def _full(disk: Result, suffix: str) -> str:
    hours, growth = disk[f"full_in_hours{suffix}"], disk[f"growth_bytes_per_day{suffix}"]
    if hours is not None:
        return _days(hours)
    return "unknown" if growth is None or disk["usable_bytes"] is None else "never"


def _days(hours: int) -> str:
    return f"{hours} h" if hours < 2 * _HOURS_OF_DAY else f"{hours // _HOURS_OF_DAY:,} days"


def _minute(moment: str | None) -> str:
    return "-" if moment is None else f"{moment[:10]} {moment[11:19]}"
