#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clear the uncleanable marks of replicas: re-create the replicas."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_cleaner_repair
short_description: Re-create uncleanable replicas without a broker restart
version_added: 1.0.0
description:
  - If the log cleaner fails on a partition, the broker marks it as uncleanable in its memory (KIP-346), and the
    partition grows from then on. The broker forgets the mark when it drops the replica.
  - For each marked or named replica, the module moves leadership off the broker and drops the replica. After the mark
    is gone, it re-creates the replica on the same broker by a reassignment, from a copy that was read and found
    complete. At the end it restores the original replica order.
  - B(It removes one copy of the data until the new replica is in sync.) So it is refused unless the other in-sync
    replicas reach C(min.insync.replicas) and at least two copies remain. All refusals are reported, each with its
    remedy.
  - Without O(partitions), it reads the copies in the marked log directories, and repairs the damaged ones.
  - On failure or timeout, it cancels a running drop and restores the original replicas in their order. The
    journal holds this for the next run after a crash.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.log_cleaner, kafkaops.recovery.log_cleaner.partitions,
  kafkaops.recovery.log_cleaner.writes, kafkaops.recovery.selection.names, kafkaops.recovery.journal,
  kafkaops.recovery.quorum_preflight, kafkaops.recovery.controllers, kafkaops.recovery.progress,
  kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [
    kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal, kafkaops.recovery.log_cleaner]}
  check_mode: {support: full, details: [Reads copies in search of marked replicas only with O(search_in_check_mode).]}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  allow_below_min_isr:
    description:
      - Continue although fewer replicas than C(min.insync.replicas) stay in sync. Producers with C(acks=all) are
        refused during that time.
    type: bool
    default: false
  allow_single_copy:
    description:
      - Continue although only one in-sync copy remains. If that copy is lost, data is lost.
    type: bool
    default: false
  force:
    description:
      - Repair named replicas although their log directory has no mark or it is unknown whether cleaner threads are
        dead. Also accept a copy as complete that was not read to its end.
    type: bool
    default: false
  max_concurrent:
    description:
      - On how many brokers replicas are re-created at the same time. On each broker, it is one after the other.
    type: int
    default: 1
  throttle_bytes_per_second:
    description:
      - How fast each broker may fetch the new replicas. Other replication is not throttled. V(0) is no limit.
    type: int
    default: 52428800
  max_read_bytes:
    description:
      - How many bytes of a copy to read in search of damage. A larger copy does not count as complete.
    type: int
    default: 10737418240
  max_total_read_bytes:
    description:
      - How many bytes of all copies together to read in search of marked replicas. Marks whose replicas were not found
        are in RV(unidentified_marks).
    type: int
    default: 107374182400
  search_in_check_mode:
    description:
      - Whether check mode also reads copies in search of marked replicas. Otherwise RV(unidentified_marks) has the
        marks.
    type: bool
    default: false
  repair_timeout_ms:
    description:
      - Milliseconds for one replica, from when it is dropped until it is in sync again.
      - The repair stops earlier, and the replica is restored, if the cleaner completed several passes without the
        replica and the number of marks did not decrease.
    type: int
    default: 3600000
  verify_timeout_ms:
    description:
      - Milliseconds in which a change must be visible.
    type: int
    default: 30000
seealso:
  - module: kafkaops.recovery.log_cleaner_info
  - module: kafkaops.recovery.log_cleaner
notes:
  - Needs ALTER and ALTER_CONFIGS on the cluster, DESCRIBE and DESCRIBE_CONFIGS on the cluster, and READ, DESCRIBE,
    DESCRIBE_CONFIGS and ALTER_CONFIGS on the topics.
"""

EXAMPLES = r"""
- name: Re-create all marked replicas if that is safe
  kafkaops.recovery.log_cleaner_repair:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    metrics_source: prometheus
    metrics_url: http://{host}:7071/metrics

- name: Re-create broker 3's replica of one partition
  kafkaops.recovery.log_cleaner_repair:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [3]
    partitions:
      - topic: __consumer_offsets
        partition: 14
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
summary:
  description: How many replicas ended in each status.
  returned: success
  type: dict
  sample: {repaired: 1, would_repair: 0, not_needed: 0, refused: 0, stopped: 0, failed: 0}
outcomes:
  description: The replicas, in order of topic, partition and broker.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: The topic.}
    partition: {type: int, description: The partition.}
    broker_id: {type: int, description: Whose replica it is.}
    status:
      description: The outcome.
      type: str
      choices: [repaired, would_repair, not_needed, refused, stopped, failed]
    reason: {type: str, description: "Why, in words, and what to do if the repair did not help."}
    source: {type: int, description: "The broker whose copy was the source, null if none was chosen."}
    replicas: {type: list, elements: int, description: "The replica order, the same before and after."}
    size_before: {type: int, description: Bytes of the copy before.}
    size_after: {type: int, description: Bytes of the new copy at the time it was in sync.}
    verified_by:
      description: V(metrics) if the broker's metrics show fewer marks, V(replicas) if only the replica itself was
        checked.
      type: str
unidentified_marks:
  description: Marks whose partitions were not found, in words.
  returned: success
  type: list
  elements: str
leftovers:
  description: Changes that an earlier run did not undo, each with C(change), C(undoing) and C(reason).
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner import options as shared
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics_source import METRICS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import (
    JOURNAL,
    PARTITIONS,
    PROGRESS,
    notes_on_file,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, stop_on_signals

ARGUMENTS = (
    CONNECTION
    + shared.BROKERS
    + METRICS
    + shared.THRESHOLDS
    + PARTITIONS
    + JOURNAL
    + QUORUM_PREFLIGHT
    + PROGRESS
    + Arguments(
        argument_spec={
            "allow_below_min_isr": {"type": "bool", "default": False},
            "allow_single_copy": {"type": "bool", "default": False},
            "force": {"type": "bool", "default": False},
            "max_concurrent": {"type": "int", "default": 1},
            "throttle_bytes_per_second": {"type": "int", "default": 52428800},
            "max_read_bytes": {"type": "int", "default": 10737418240},
            "max_total_read_bytes": {"type": "int", "default": 107374182400},
            "search_in_check_mode": {"type": "bool", "default": False},
            "repair_timeout_ms": {"type": "int", "default": 3600000},
            "attempts": {"type": "int", "default": 3},
            "verify_timeout_ms": {"type": "int", "default": 30000},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=shared.LIBRARIES)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner import repair_module

    done = repair_module.repair(module.params, check_mode=module.check_mode, stop=stop)
    for warning in (*notes_on_file(module.params), *repair_module.warnings(done)):
        module.warn(warning)
    return repair_module.results_of(done)


if __name__ == "__main__":
    main()
