# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read which groups there are, which broker coordinates each, and what they have committed. Only reads.

1. Every broker lists the groups that it coordinates, with their states.
2. The coordinator of each group returns its commits. A group that only the salvage has, has a coordinator too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.group_commits import partition_of
from .._kafka.groups import Commit, GroupCommits
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.share_groups import ShareOffsets
from .._model.near_names import not_found
from .._model.partition import OFFSETS_TOPIC, PartitionState, TopicPartition, grouped
from .._model.reasons import join_first, plural
from .plan import MOST_NAMED, UnknownCommits


@dataclass(slots=True)
class PresentGroups:
    """The groups of the cluster."""

    states: dict[str, str] = field(default_factory=dict)
    """The state of each group that a coordinator lists."""
    share: set[str] = field(default_factory=set)
    """The share groups. Their start offsets are taken for commits without leader epoch and metadata."""
    coordinators: dict[str, Address] = field(default_factory=dict)
    commits: dict[str, GroupCommits] = field(default_factory=dict)
    stateless: set[tuple[str, TopicPartition]] = field(default_factory=set)
    """What share groups read without a start offset."""
    unknown: list[UnknownCommits] = field(default_factory=list)

    @property
    def answered(self) -> set[str]:
        """The groups whose commits are known."""
        return {group for group, each in self.commits.items() if not each.error}

    def commit_of(self, group: str, name: TopicPartition) -> Commit | None:
        """Return the group's present commit for a partition; None if it has none."""
        return self.commits[group].commits.get(name)


def read_groups(
    kafka: Kafka,
    cluster: Cluster,
    described: Collection[PartitionState],
    wanted: Collection[str] | None,
    saved: Collection[str],
) -> PresentGroups:
    """Return these groups, or all of the cluster and those that are saved. Raises RequestRefusedError.

    ``described`` are the partitions of all topics.
    """
    found = _list_groups(kafka, cluster)
    known = {*found.states, *saved}
    names = known if wanted is None else {*wanted}
    places = [each for each in described if each.topic == OFFSETS_TOPIC]
    if not places:
        found.unknown += _explain_no_topic(kafka, names)
        return found
    if wanted is None:
        _note_unlisted(cluster, places, found)
    _find_coordinators(cluster, places, names, found)
    _read_commits(kafka, found)
    # The coordinator of one that does not exist answers, and has no commit of it.
    absent = [each for each in names - known if each in found.answered and not found.commits[each].commits]
    texts = not_found(absent, known, "group")
    found.unknown += [UnknownCommits((each,), texts[each]) for each in sorted(absent)]
    return found


def share_commits(found: ShareOffsets) -> GroupCommits:
    """Return the start offsets of a share group as commits."""
    return GroupCommits({name: Commit(offset) for name, offset in found.offsets.items()}, found.error)


def _list_groups(kafka: Kafka, cluster: Cluster) -> PresentGroups:
    def ask(broker_id: int) -> tuple[dict[str, str], dict[str, str]] | str:
        address = cluster.unfenced[broker_id]
        try:
            return kafka.group_states(address), kafka.share_group_states(address)
        except RequestRefusedError as error:
            return str(error)

    found = PresentGroups()
    for broker_id, answer in kafka.in_parallel(ask, cluster.unfenced).items():
        if isinstance(answer, tuple):
            found.states |= answer[0] | answer[1]
            found.share |= answer[1].keys()
        else:
            found.unknown.append(UnknownCommits((), f"the groups that broker {broker_id} coordinates: {answer}"))
    return found


def _explain_no_topic(kafka: Kafka, names: Iterable[str]) -> Iterator[UnknownCommits]:
    """Yield why no group has commits that we see. A group that is listed may have some all the same."""
    if kafka.hidden_among([OFFSETS_TOPIC]):
        yield UnknownCommits(
            tuple(sorted(names)), f"{OFFSETS_TOPIC}, which has their commits, is hidden from us: grant DESCRIBE on it"
        )
        return
    for each in sorted(names):
        yield UnknownCommits(
            (each,), f"group {each} was not found: there is no {OFFSETS_TOPIC}, as before the first commit"
        )


def _note_unlisted(cluster: Cluster, places: Sequence[PartitionState], found: PresentGroups) -> None:
    """Note that groups are missing whose coordinator is down: nobody lists them."""
    down = sorted(each.topic_partition for each in places if each.is_offline or each.leader_id not in cluster.unfenced)
    if down:
        why = (
            f"the groups of {join_first(down, MOST_NAMED)}, {len(down)} of {plural(len(places), 'partition')}: no "
            "leader is up"
        )
        found.unknown.append(UnknownCommits((), why))


def _find_coordinators(
    cluster: Cluster, places: Sequence[PartitionState], names: Iterable[str], found: PresentGroups
) -> None:
    """Find the leader of each group's partition of __consumer_offsets."""
    leaders = {each.topic_partition: each.leader_id for each in places if not each.is_offline}
    without: dict[TopicPartition, list[str]] = {}
    for group in sorted(names):
        place = TopicPartition(OFFSETS_TOPIC, partition_of(group, len(places)))
        address = cluster.addresses.get(leaders.get(place, -1))
        if address is None:
            without.setdefault(place, []).append(group)
        else:
            found.coordinators[group] = address
    for place, groups in without.items():
        found.unknown.append(UnknownCommits(tuple(groups), f"{place}, which has their commits, has no leader"))


def _read_commits(kafka: Kafka, found: PresentGroups) -> None:
    # Apart, because a broker may not have the request for share groups.
    asked = grouped(((address, group in found.share), group) for group, address in found.coordinators.items())

    def ask(place: tuple[Address, bool]) -> dict[str, GroupCommits]:
        coordinator, is_share = place
        if not is_share:
            return kafka.read_commits(coordinator, asked[place])
        starts = kafka.share_start_offsets(coordinator, asked[place])
        found.stateless |= {(group, name) for group, each in starts.items() for name in each.uninitialized}
        return {group: share_commits(each) for group, each in starts.items()}

    failed: dict[str, list[str]] = {}
    for place, answer in kafka.in_parallel(ask, asked).items():
        if isinstance(answer, BrokerCallError):
            failed.setdefault(str(answer), []).extend(asked[place])
            continue
        for group, commits in answer.items():
            found.commits[group] = commits
            if commits.error:
                failed.setdefault(commits.error, []).append(group)
    found.unknown += [UnknownCommits(tuple(groups), error) for error, groups in failed.items()]
