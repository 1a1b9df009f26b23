# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random histories of clusters, stored as the recorder stores them, and what a plain loop over them finds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.names import SnapshotName, cluster_uri
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.rows import BROKER_SCHEMA, RECORDED_SCHEMA

T0 = datetime(2026, 1, 5, tzinfo=UTC)
STEP = timedelta(minutes=10)
MIB = 1 << 20
Key = tuple[str, int, int]
"""Topic, partition and broker id."""


@dataclass
class Look:
    """What one snapshot saw."""

    at: datetime
    is_full: bool
    replicas: dict[Key, dict[str, Any]]
    brokers: list[dict[str, Any]]


@dataclass
class World:
    """A cluster that changes by chance.

    The topics of two thirds of the partitions are compacted, or their policy is not known.
    """

    seed: int
    partitions: int = 6
    brokers: int = 5
    chance: random.Random = field(init=False)
    up: set[int] = field(init=False)
    topics: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    ids: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.up = set(range(self.brokers))

    def _new(self) -> dict[str, Any]:
        replicas = self.chance.sample(range(self.brokers), self.chance.choice([1, 2, 3, 3]))
        ends = dict.fromkeys(replicas, 100)
        self.ids += 1
        return {
            "id": f"id-{self.ids}",
            "sizes": dict.fromkeys(replicas, 0),
            "dirs": {each: self.chance.choice(["/d", "/e"]) for each in replicas},
            "ends": ends,
            "isr": sorted(replicas),
            "leader": replicas[0],
            "min": self.chance.choice([1, 2, 2, None]),
        }

    def step(self) -> None:
        chance = self.chance
        for broker in range(self.brokers):
            if chance.random() < 0.07:
                self.up ^= {broker}
        for number in range(self.partitions):
            name = (f"t{number % 3}", number)
            state = self.topics.get(name)
            if state is None or chance.random() < 0.03:
                self.topics[name] = state = self._new()
            if chance.random() < 0.02:
                del self.topics[name]
                continue
            live = [each for each in state["ends"] if each in self.up]
            lagging = {each for each in live if chance.random() < 0.1}
            isr = [each for each in live if each not in lagging]
            state["isr"] = sorted(isr) or state["isr"]
            state["leader"] = isr[0] if isr else -1
            if isr and chance.random() < 0.6:
                state["ends"][isr[0]] += chance.randrange(50)
            for each in live:
                is_compacted = chance.random() < 0.1
                state["sizes"][each] = 0 if is_compacted else state["sizes"][each] + chance.choice([0, 0, 9 * MIB])
            for each in isr[1:]:
                state["ends"][each] = state["ends"][isr[0]] - chance.choice([0, 0, 3])

    def look(self, at: datetime, *, is_full: bool) -> Look:
        replicas = {}
        for (topic, partition), state in self.topics.items():
            for broker, end in state["ends"].items():
                answers = broker in self.up
                leads = state["leader"] == broker
                replicas[topic, partition, broker] = {
                    "topic": topic,
                    "partition": partition,
                    "broker_id": broker,
                    "topic_id": state["id"],
                    "leader_id": state["leader"],
                    "leader_epoch": 1,
                    "isr": state["isr"],
                    "min_isr": state["min"],
                    "is_compacted": {"t0": True, "t1": False}.get(topic),
                    "size_bytes": state["sizes"][broker] if answers else None,
                    "log_dir": state["dirs"][broker] if answers else None,
                    "log_start_offset": 10 if answers else None,
                    "log_end_offset": end if answers else None,
                    "high_watermark": max(10, end - 5) if answers and leads else None,
                    "cause": None if answers else "unreachable",
                }
        free = 10**9 - round((at - T0) / timedelta(seconds=1)) * 7
        brokers = [
            {
                "recorded_at": at,
                "broker_id": broker,
                "rack": None if broker == 4 else f"r{broker % 2}",
                "state": "online" if broker in self.up else "unreachable",
                "error": "",
                **({"log_dir": "/d", "total_bytes": 10**9, "usable_bytes": free - broker} if broker in self.up else {}),
            }
            for broker in range(self.brokers)
        ]
        return Look(at, is_full, replicas, brokers)


def looks_of(world: World, steps: int) -> list[Look]:
    """Return looks every ten minutes, except that some hours have none. About every eighth is full."""
    looks: list[Look] = []
    at = T0
    for number in range(steps):
        world.step()
        looks.append(world.look(at, is_full=number % 8 == 0))
        at += STEP * (world.chance.choice([7, 11]) if world.chance.random() < 0.05 else 1)
    return looks


def store(looks: list[Look], root: Path, cluster_id: str) -> None:
    """Store the looks as the recorder does: all replicas, or those that changed."""
    scope = Path(cluster_uri(str(root), cluster_id).removeprefix("file://")) / "scope=all"
    before: Mapping[Key, dict[str, Any]] = {}
    for look in looks:
        rows = [row for key, row in look.replicas.items() if look.is_full or before.get(key) != row]
        if not look.is_full:
            gone = (
                dict(zip(("topic", "partition", "broker_id"), key, strict=True))
                for key in before.keys() - look.replicas
            )
            rows += [{**key, "is_removed": True} for key in gone]
        rows = [{"is_removed": False, "observed_at": look.at, **row} for row in rows]
        place = scope / SnapshotName.new(look.at, is_full=look.is_full).text
        for part, found, schema in (("replicas", rows, RECORDED_SCHEMA), ("brokers", look.brokers, BROKER_SCHEMA)):
            (place / part).mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(found, schema), place / part / "part-0.parquet")
        before = look.replicas


def observed(looks: list[Look]) -> list[float]:
    """Return for each look how many seconds its states count."""
    lengths = [(later.at - earlier.at) for earlier, later in pairwise(looks)]
    return [each.total_seconds() if each <= 3 * STEP else 0.0 for each in lengths] + [0.0]


def level(rows: list[dict[str, Any]]) -> str:
    """Return the state of a partition, by the rows of its replicas."""
    if not rows:
        return "gone"
    row = rows[0]
    if row["leader_id"] == -1:
        return "offline"
    if row["min_isr"] is None:
        return "unknown"
    spare = len(row["isr"]) - min(row["min_isr"], len(rows))
    return "below" if spare < 0 else "above" if spare else "at"


def low_partitions(looks: list[Look]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return how long each partition was in which state, and its longest stretch."""
    found = {}
    for name in {key[:2] for look in looks for key in look.replicas}:
        sums = dict.fromkeys(("offline", "below", "at", "unknown"), 0.0)
        stretches: list[list[Any]] = []
        was_low, seen = False, 0
        for look, seconds in zip(looks, observed(looks), strict=True):
            state = level([row for key, row in look.replicas.items() if key[:2] == name])
            is_low = state in ("offline", "below", "at")
            if state in sums:
                sums[state] += seconds
            if is_low:
                seen += 1
                if not was_low:
                    stretches.append([0.0, look.at])
                stretches[-1][0] += seconds
            was_low = is_low
        if seen:
            longest, began = max(stretches, key=lambda each: (each[0], -each[1].timestamp()))
            found[name] = {**sums, "longest": longest, "began": began, "seen": seen, "state": state}
    return found


def copy_trends(looks: list[Look], regrown_bytes: int) -> dict[tuple[int, str, str, int], dict[str, Any]]:
    """Return the trend of each copy of a compacted partition that the newest look has a size of."""
    sizes: dict[tuple[int, str, str, int], list[tuple[int, int]]] = {}
    for (topic, partition, broker), now in looks[-1].replicas.items():
        if now["is_compacted"] and now["size_bytes"] is not None:
            copy = (broker, now["log_dir"], topic, partition)
            rows = [(look.at, look.replicas.get((topic, partition, broker), {})) for look in looks]
            sizes[copy] = [
                (round(at.timestamp() * 1000), row["size_bytes"])
                for at, row in rows
                if row.get("topic_id") == now["topic_id"]
                and row["log_dir"] == now["log_dir"]
                and row["size_bytes"] is not None
            ]
    found: dict[tuple[int, str, str, int], dict[str, Any]] = {}
    for copy, seen in sizes.items():
        shrunk = [place for place in range(1, len(seen)) if seen[place][1] < seen[place - 1][1]]
        shrunk_at = seen[shrunk[-1]][0] if shrunk else None
        is_regrown = bool(shrunk) and seen[-1][1] - seen[shrunk[-1]][1] >= regrown_bytes
        count = seen[shrunk[-1] :] if is_regrown else seen
        found[copy] = {
            "looks": len(count),
            "span_ms": count[-1][0] - count[0][0],
            "first_bytes": count[0][1],
            "last_bytes": count[-1][1],
            "has_shrunk": bool(shrunk) and not is_regrown,
            "since_ms": count[0][0],
            "shrunk_at_ms": shrunk_at,
        }
    for copy, each in found.items():
        others = [other for name, other in found.items() if name[2:] == copy[2:] and name != copy]
        each["others_shrank"] = any(
            other["shrunk_at_ms"] is not None and other["shrunk_at_ms"] > each["since_ms"] for other in others
        )
        each["smallest_copy_bytes"] = min((other["last_bytes"] for other in others), default=None)
    return {
        copy: {name: value for name, value in each.items() if name not in {"since_ms", "shrunk_at_ms"}}
        for copy, each in found.items()
    }


def death_cost(look: Look, broker: int) -> tuple[int, int, int]:
    """Return the records that only this broker held, in how many partitions, and those without another answer."""
    records = partitions = alone = 0
    for name in {key[:2] for key in look.replicas}:
        rows = {key[2]: row for key, row in look.replicas.items() if key[:2] == name and row["cause"] is None}
        own = rows.pop(broker, None)
        if own is None or (own["leader_id"] in rows):
            continue
        safe = [own["log_start_offset"], *(each["log_end_offset"] for each in rows.values())]
        if own["high_watermark"] is not None and any(each in own["isr"] for each in rows):
            safe.append(own["high_watermark"])
        lost = max(own["log_end_offset"] - max(safe), 0)
        records, partitions = records + lost, partitions + bool(lost)
        alone += 0 if rows else lost
    return records, partitions, alone


def lagging(look: Look, broker: int) -> int:
    """Return in how many partitions a broker answered and was not in sync."""
    return sum(
        key[2] == broker and row["cause"] is None and row["leader_id"] != -1 and broker not in row["isr"]
        for key, row in look.replicas.items()
    )
