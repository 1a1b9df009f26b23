# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the account of an incident's records by partition: held by losers, saved, given back, still lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._documents.dataclass_json import codec
from .._model.log_contents import EpochRange
from .._model.partition import TopicPartition, grouped
from .._model.reasons import plural
from .._recovery.candidate import Flag
from .._recovery.outcome import Outcome
from .._recovery.plan import Status
from .._salvage.account import Account, Balance, add_balances, describe_still_lost, sum_balances
from .._salvage.finding import NOT_COMPARED
from .._salvage.finding import SalvageStatus as DiskStatus
from .._salvage.saved import SavedRecords
from .blocks import Cell, ReportParagraph, Section, first_rows, number_cell
from .extents import Saved

_NOTE = (
    "Found: offsets that the leader lacks, and that live replicas held when the election was planned, or that disks of "
    "stopped brokers hold. Transaction markers have offsets too. Saved and given back: records, each counted once. "
    "Still lost: records that were found and not saved, or saved and not given back. Records of aborted transactions "
    "do not count, nor do those that a compacted topic does not need: without a key, or with a newer record of the "
    "key. A batch that does not decode counts as one record. Unknown: a replica could not be compared with its leader, "
    "or the manifest of a replayed salvage is missing."
)


_SAVED = codec(SavedRecords)


def compute_balances(
    outcomes: Sequence[Outcome],
    manifests: Sequence[Mapping[str, Any]],
    disks: Sequence[Mapping[str, Any]],
    replays: Sequence[Mapping[str, Any]],
) -> dict[TopicPartition, Balance]:
    """Combine forecast, salvages and replays of one incident, in order of topic and partition number."""
    accounts = _Accounts(outcomes, manifests, disks, replays)
    _add_held_by_losers(accounts, outcomes, manifests, disks)
    for _salvage_id, saved in _saved(manifests, disks):
        accounts.of(saved.topic_partition, saved.topic_id).salvages.append(saved)
    known = {each["salvageId"] for each in (*manifests, *disks)}
    for salvage_id, each in ((run["salvageId"], one) for run in replays for one in run["partitions"]):
        account = accounts.of(_name(each), each["topicId"])
        given = each["given"] + each["givenBefore"]
        account.given = max(account.given or 0, given)
        account.settled = max(account.settled, given + each["superseded"])
        if salvage_id not in known:
            account.saved_at_least = max(account.saved_at_least, each["saved"])
            account.is_complete = False
    return accounts.balances()


class _Accounts:
    """The accounts of all partitions of all topics. Topics that had the same name one after another are apart."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        manifests: Sequence[Mapping[str, Any]],
        disks: Sequence[Mapping[str, Any]],
        replays: Sequence[Mapping[str, Any]],
    ) -> None:
        rows = [(_name(one), one["topicId"]) for run in (*manifests, *disks, *replays) for one in run["partitions"]]
        named = [*rows, *((each.topic_partition, each.topic_id) for each in outcomes)]
        self._ids = grouped((name, topic_id) for name, topic_id in {*named} if topic_id is not None)
        self._found: dict[tuple[TopicPartition, str], Account] = defaultdict(Account)

    def of(self, name: TopicPartition, topic_id: str | None) -> Account:
        """Return the account of a partition. Without an id, it is that of the only topic of this name."""
        ids = self._ids.get(name, ())
        return self._found[name, topic_id or (ids[0] if len(ids) == 1 else "")]

    def balances(self) -> dict[TopicPartition, Balance]:
        """Return the numbers of each partition, of all topics of its name together."""
        by_name = grouped((name, self._found[name, topic_id].balance()) for name, topic_id in sorted(self._found))
        return {name: add_balances(each) for name, each in by_name.items()}


def build_account_verdict(
    outcomes: Sequence[Outcome], balances: Mapping[TopicPartition, Balance], disks: Sequence[Mapping[str, Any]]
) -> tuple[str, bool]:
    """Say what is still lost, and for how many partitions records were never compared, or are in no log.

    Also returns whether it is known that nothing is still lost.
    """
    compared = {(each["brokerId"], _name(one)) for each in disks for one in each["partitions"] if _is_compared(one)}
    recovered = [each for each in outcomes if each.status is Status.RECOVERED]
    not_compared = sum(_has_uncompared(each, compared) for each in recovered)
    untold = sum(_is_untold(each) for each in recovered)
    total = sum_balances(balances.values())
    sentences = [describe_still_lost(total)]
    if not_compared:
        count = plural(not_compared, "partition")
        sentences.append(f"For {count}, replicas could not be compared, so it is unknown what they held.")
    if untold:
        sentences.append(
            f"For {plural(untold, 'partition')}, it is unknown whether records are lost that are before the leader's "
            "log start, in the tier, or between two logs."
        )
    is_settled = not (not_compared or untold or total.still_lost or total.unknown)
    return " ".join(sentences), is_settled


def _has_uncompared(outcome: Outcome, compared: Collection[tuple[int, TopicPartition]]) -> bool:
    """Return whether a replica may hold records that neither the forecast nor a disk's report compared."""
    name, leader = outcome.topic_partition, outcome.designated_leader
    loss = outcome.loss_of(leader)
    if loss is None:
        return any((each, name) not in compared for each in outcome.replicas if each != leader)
    return any(
        (against.lost is None or not against.is_bounded)
        and (against.answered or (against.broker_id, name) not in compared)
        for against in loss.against
    )


def _is_untold(outcome: Outcome) -> bool:
    """Return whether more may be lost than the comparisons show. No salvage of another replica answers that."""
    loss = outcome.loss_of(outcome.designated_leader)
    if loss is None:
        return False
    # Of a tiered topic: what is neither known to be on the leader's disk nor in the tier.
    is_tier_unknown = loss.at_most is None and all(each.lost is not None and each.is_bounded for each in loss.against)
    has_gap = any(Flag.GAP in each.flags for each in outcome.candidates if each.broker_id == loss.broker_id)
    return is_tier_unknown or has_gap or any(each.undetermined for each in loss.against)


def _is_compared(partition: Mapping[str, Any]) -> bool:
    """Return whether a disk's replica was compared completely with the leader, without damages or unknown offsets."""
    return partition["status"] not in NOT_COMPARED and not partition["damages"] and not partition["beforeLogStart"]


def build_account_section(balances: Mapping[TopicPartition, Balance]) -> Section:
    """Build the section with the account, in words and by partition."""
    total = sum_balances(balances.values())
    columns = ("Partition", "Found", "Saved", "Given back", "Still lost")
    is_bad = bool(total.still_lost or total.unknown)
    return Section(
        "Records found, saved and given back",
        (
            ReportParagraph(describe_still_lost(total), "bad" if is_bad else "good"),
            first_rows(
                plural(total.partitions, "partition"),
                columns,
                [*balances.items()],
                lambda row: _row(*row),
            ),
            ReportParagraph(_NOTE),
        ),
    )


def _add_held_by_losers(
    accounts: _Accounts,
    outcomes: Sequence[Outcome],
    manifests: Sequence[Mapping[str, Any]],
    disks: Sequence[Mapping[str, Any]],
) -> None:
    """Add the offsets that losers held. A salvage is more exact than the forecast, which does not know compaction."""
    for manifest in manifests:
        topic_ids = {_name(each): each["topicId"] for each in manifest["partitions"]}
        for each in manifest["held"]:
            accounts.of(_name(each), topic_ids.get(_name(each))).held += _ranges(each["ranges"])
    of_live = [each for each in manifests if not any(one["logDirs"] for one in each["origins"])]
    found = {_name(each) for manifest in of_live for each in manifest["held"]}
    for outcome in outcomes:
        name = outcome.topic_partition
        lost = [
            stretch
            for loss in outcome.losses
            if loss.broker_id == outcome.designated_leader
            for against in loss.against
            if against.answered
            for stretch in against.lost or ()
        ]
        if lost and outcome.status is not Status.ALREADY_ONLINE:
            account = accounts.of(name, outcome.topic_id)
            account.is_elected = outcome.status is not Status.REFUSED
            account.held += lost if name not in found else []
    for each in (one for disk in disks for one in disk["partitions"]):
        if each["lost"]:
            accounts.of(_name(each), each["topicId"]).held += _ranges(each["lost"])
        elif each["status"] == DiskStatus.FAILED:
            accounts.of(_name(each), each["topicId"]).is_compared = False


def find_saved_ranges(
    manifests: Sequence[Mapping[str, Any]], disks: Sequence[Mapping[str, Any]]
) -> dict[TopicPartition, list[Saved]]:
    """Return the saved offsets of each partition and the brokers they were saved from, for the pictures."""
    brokers = {each["salvageId"]: (each["brokerId"],) for each in disks}
    brokers |= {each["salvageId"]: tuple(one["brokerId"] for one in each["origins"]) for each in manifests}
    ranges: dict[TopicPartition, list[Saved]] = defaultdict(list)
    for salvage_id, saved in _saved(manifests, disks):
        ranges[saved.topic_partition] += [Saved(brokers[salvage_id], each) for each in saved.ranges]
    return ranges


def _row(name: TopicPartition, balance: Balance) -> tuple[Cell, ...]:
    lost = replace(number_cell(balance.still_lost), tone="good" if balance.still_lost == 0 else "bad")
    return (
        Cell(str(name)),
        number_cell(balance.held_by_losers),
        number_cell(balance.saved),
        number_cell(balance.given_back),
        lost,
    )


def _saved(
    manifests: Sequence[Mapping[str, Any]], disks: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, SavedRecords]]:
    """Yield the saved records of each salvage and partition, from its manifest or else from its report.

    Each salvage counts once, even if the documents have a manifest and its copy.
    """
    by_id = {each["salvageId"]: each for each in manifests}
    for manifest in by_id.values():
        for each in manifest["partitions"]:
            yield manifest["salvageId"], _SAVED.decode(each)
    for disk in {each["salvageId"]: each for each in disks if each["salvageId"] not in by_id}.values():
        for each in disk["partitions"]:
            if each["saved"] is not None:
                yield disk["salvageId"], _SAVED.decode(each["saved"])


def _name(each: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(each["topic"], each["partition"])


def _ranges(stretches: Sequence[Sequence[int]]) -> list[EpochRange]:
    return [EpochRange(*each) for each in stretches]
