# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a schema cannot say of a plan: that its parts agree with each other. Standard library only.

Only entries that meet their schema are looked at; the others have faults enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import Fault
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.plan_file import ELECTION, LEFT_ALONE
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.screen import screen
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.wording import listed, pointer
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import ElectionType

Place: TypeAlias = "tuple[str | int, ...]"

_ENTRIES = {"partitions": screen(ELECTION), "leftAlone": screen(LEFT_ALONE)}


def consistency_faults(plan: dict[str, Any]) -> Iterator[Fault]:
    """Partitions that are there twice, leaders and candidates that cannot be, logs that cannot be."""
    seen: dict[tuple[str, int], tuple[Place, int | None]] = {}
    for place, entry in _sound_entries(plan):
        leader = entry.get("designatedLeader")
        first_place, first_leader = seen.setdefault((entry["topic"], entry["partition"]), (place, leader))
        if first_place != place:
            yield _twice(entry, place, leader, first_place, first_leader)
        yield from _replica_faults(entry, place)
        for index, candidate in enumerate(entry["candidates"]):
            yield from _log_faults(candidate, (*place, "candidates", index))


def _sound_entries(plan: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    for key, meets in _ENTRIES.items():
        entries = plan.get(key)
        if isinstance(entries, list):
            yield from (((key, index), entry) for index, entry in enumerate(entries) if meets(entry))


def _twice(entry: dict[str, Any], place: Place, leader: int | None, first: Place, first_leader: int | None) -> Fault:
    name, where = f"{entry['topic']}-{entry['partition']}", pointer(*first)
    if leader == first_leader:
        return Fault(pointer(*place), f"{name} is there already at {where}", "Remove one of the two")
    problem = f"{name} is to be led by {_broker(leader)} here, and by {_broker(first_leader)} at {where}"
    return Fault(pointer(*place), problem, "Remove the one that is not meant")


def _broker(broker_id: int | None) -> str:
    return "nobody" if broker_id is None else f"broker {broker_id}"


def _replica_faults(entry: dict[str, Any], place: Place) -> Iterator[Fault]:
    replicas = entry["replicas"]
    candidates = [candidate["brokerId"] for candidate in entry["candidates"]]
    silent = [replica["brokerId"] for replica in entry["silent"]]
    leader = entry.get("designatedLeader")
    if leader is not None:
        at = pointer(*place, "designatedLeader")
        if leader not in replicas:
            yield Fault(
                at, _stranger(leader, replicas), "Designate a replica: an election never changes the replica set"
            )
        elif leader not in candidates and entry["electionType"] == ElectionType.UNCLEAN:
            problem = f"broker {leader} is not among the candidates, which are {listed(candidates)}"
            yield Fault(at, problem, "Designate a candidate: what another replica holds is not known")
    # Of a partition that is left alone the replicas may be unknown.
    known = replicas or [*candidates, *silent]
    yield from _broker_faults(replicas, known, [(*place, "replicas", index) for index in range(len(replicas))])
    places = [(*place, "candidates", index, "brokerId") for index in range(len(candidates))]
    places += [(*place, "silent", index, "brokerId") for index in range(len(silent))]
    yield from _broker_faults([*candidates, *silent], known, places)
    for index, (one, next_one) in enumerate(pairwise(entry["candidates"]), start=1):
        if one["rank"] >= next_one["rank"]:
            problem = f"rank {next_one['rank']} comes after rank {one['rank']}"
            yield Fault(
                pointer(*place, "candidates", index, "rank"), problem, "Put the candidates in order, the best first"
            )


def _broker_faults(brokers: Sequence[int], known: Sequence[int], places: Sequence[Place]) -> Iterator[Fault]:
    for index, (broker, place) in enumerate(zip(brokers, places, strict=True)):
        if broker not in known:
            yield Fault(pointer(*place), _stranger(broker, known), "Correct the broker id, or remove the entry")
        if broker in brokers[:index]:
            first = pointer(*places[brokers.index(broker)])
            yield Fault(pointer(*place), f"broker {broker} is there already at {first}", "Remove one of the two")


def _stranger(broker: int, replicas: Sequence[int]) -> str:
    return f"broker {broker} is not among the replicas, which are {listed(replicas)}"


def _log_faults(candidate: dict[str, Any], place: Place) -> Iterator[Fault]:
    remedy = "Put back what the replica told, or make the plan again"
    start, end = candidate["logStartOffset"], candidate["logEndOffset"]
    if end < start:
        problem = f"the log end offset {end} lies before the log start offset {start}"
        yield Fault(pointer(*place, "logEndOffset"), problem, remedy)
    for index, ((epoch, offset), (next_epoch, next_offset)) in enumerate(pairwise(candidate["lineage"]), start=1):
        if next_epoch <= epoch or next_offset < offset:
            problem = f"epoch {next_epoch}, end offset {next_offset}, comes after epoch {epoch}, end offset {offset}"
            yield Fault(pointer(*place, "lineage", index), problem, remedy)
