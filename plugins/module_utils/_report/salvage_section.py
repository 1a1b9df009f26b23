# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The account of an incident's records: held elsewhere, saved, given back, and still lost, by partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._model.log_contents import EpochRange, records_in
from .._model.partition import TopicPartition
from .._recovery.plan import Outcome
from .._salvage.stretch import merged, minus
from .blocks import Cell, Paragraph, Section, Table, number
from .recovery_sections import MAX_ROWS

_NOTE = (
    "Held by losers: what live replicas held when the election was planned, and what disks of stopped brokers held "
    "that the leader lacks, in offsets, which count transaction markers. Saved and given back are records, each once. "
    "Still lost is what was held and not saved, or saved and not given back. Records of aborted transactions are none."
)


@dataclass(slots=True)
class _Account:
    held_ranges: list[EpochRange] = field(default_factory=list)
    saved_ranges: list[EpochRange] = field(default_factory=list)
    saved_records: int = 0
    aborted: int = 0
    given: int = 0

    @property
    def held(self) -> int:
        return records_in(merged([*self.held_ranges, *self.saved_ranges]))

    @property
    def saved(self) -> int:
        """Records, without those that another salvage has, too."""
        twice = sum(each.records for each in self.saved_ranges) - records_in(merged(self.saved_ranges))
        return max(0, self.saved_records - twice)

    @property
    def lost(self) -> int:
        not_saved = records_in(minus(merged(self.held_ranges), merged(self.saved_ranges)))
        return not_saved + max(0, self.saved - self.aborted - self.given)


def account_section(
    outcomes: Sequence[Outcome],
    manifests: Sequence[Mapping[str, Any]],
    disks: Sequence[Mapping[str, Any]],
    replays: Sequence[Mapping[str, Any]],
) -> Section:
    """Join forecast, salvages and replays of one incident."""
    accounts: dict[TopicPartition, _Account] = defaultdict(_Account)
    for outcome in outcomes:
        for against in (
            one for loss in outcome.losses if loss.broker_id == outcome.designated_leader for one in loss.against
        ):
            if against.answered and against.lost:
                accounts[outcome.topic_partition].held_ranges += against.lost
    for each in (one for disk in disks for one in disk["partitions"] if one["lost"]):
        accounts[_name(each)].held_ranges += _ranges(each["lost"])
    # The same salvage may be there twice, by its manifest and by a copy of it.
    for manifest in {each["salvage_id"]: each for each in manifests}.values():
        for each in manifest["partitions"]:
            account = accounts[_name(each)]
            account.saved_ranges += _ranges(each["ranges"])
            account.saved_records += each["records"]
            account.aborted += each["aborted"]
    for each in (one for replay in replays for one in replay["partitions"]):
        account = accounts[_name(each)]
        account.given = max(account.given, each["given"] + each["given_before"])
    rows = tuple(_row(name, accounts[name]) for name in sorted(accounts)[:MAX_ROWS])
    columns = ("Partition", "Held by losers", "Saved", "Given back", "Still lost")
    total = sum(each.lost for each in accounts.values())
    verdict = f"Still lost: {total:,}." if total else "Nothing that was found anywhere is still lost."
    caption = f"{len(accounts):,} partitions"
    return Section(
        "Records that were lost",
        (Paragraph(verdict, "bad" if total else "good"), Table(caption, columns, rows), Paragraph(_NOTE)),
    )


def _row(name: TopicPartition, account: _Account) -> tuple[Cell, ...]:
    lost = Cell(f"{account.lost:,}", "bad" if account.lost else "good", is_number=True)
    return (Cell(str(name)), number(account.held), number(account.saved), number(account.given), lost)


def _name(each: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(each["topic"], each["partition"])


def _ranges(ranges: Sequence[Mapping[str, int]]) -> list[EpochRange]:
    return [EpochRange(each["epoch"], each["start_offset"], each["end_offset"]) for each in ranges]
