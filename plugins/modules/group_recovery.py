#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Give groups their committed offsets back, and end hanging transactions."""

from __future__ import annotations

DOCUMENTATION = r"""
module: group_recovery
short_description: Give groups their committed offsets back after an unclean election
version_added: 1.0.0
description:
  - Compares the committed offsets of consumer and streams groups with the logs of the present leaders, and with a
    salvage that holds records of C(__consumer_offsets). Finds groups that went back, groups outside of a log, and
    groups whose next records are not the records that they would have read.
  - A group continues where the log that it has read and the present one diverge. This is where the leader epoch of its
    commit ends in the present log (KIP-320). So it reads every record that it has not read. A group never goes back
    unless its offset does not hold for the present log.
  - Some clients commit a leader epoch that they do not keep. So an epoch counts only if the salvage, or an unclean
    election in the controllers' metadata log, says that records of the partition were lost. If this is unknown, or if a
    saved offset may be beyond the records that the group has read of the present log, the module names the group and
    fails.
  - The module leaves a group alone if it has committed since the election, or if its offsets were reset, deleted or
    expired since. It reads this in C(__consumer_offsets). If the log cleaner may have removed a deletion, this is
    unknown, and the group is named. O(overwrite_groups) sets the saved offsets in spite of this.
  - Only groups without members are changed. A coordinator refuses the commit for a group that has members.
  - Finds open transactions that no coordinator has, in all partitions. An unclean election that loses the tail of
    C(__transaction_state), or the COMMIT marker of another topic, leaves them behind, and C(read_committed) consumers
    stop there. If the salvage has its COMMIT marker, a transaction is committed again. Others are aborted one by one
    with O(abort_hanging_transactions), if their newest record is older than C(transaction.max.timeout.ms). The module
    does both only if all coordinators answered and hide no transactional id from the principal.
  - Without O(apply), and in check mode, it only looks. O(plan_output_file) writes the plan to be reviewed, and
    O(plan_file) carries out a reviewed plan.
  - Before the first change, the module writes the former committed offsets to O(undo_file) and syncs it to disk. After
    a killed run, run again. The module changes only what is not yet changed.
  - A share group (Kafka 4.2 and later) that has no start offset, or one beyond the log end, gets one again. All records
    from there on are delivered again, also acknowledged ones. A salvage with records of C(__share_group_state) says
    where the group was. A group that went back gets this start offset if it has done no record after it since.
  - ACLs that our principal lacks are all named, with the commands that grant them. A group, a topic or a transaction
    that is refused blocks no other.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal,
  kafkaops.recovery.quorum_preflight, kafkaops.recovery.report, kafkaops.recovery.progress,
  kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full}
  diff_mode: {support: full, details: [The committed offsets before and after.]}
  idempotent: {support: full}
options:
  salvage_dir:
    description:
      - The directories that salvages of one outage have written, or copies of them, in any order. They must be of this
        cluster. Without them, only the present commits are compared with the logs.
      - Each is a local path, or the URI of a directory on a file system that Hadoop knows, such as
        C(hdfs://namenode/saved).
    type: list
    elements: path
  groups:
    description:
      - The groups to look at. Defaults to all.
    type: list
    elements: str
  beyond_end_time:
    description:
      - Where groups continue whose offset is beyond the log end, if neither a leader epoch nor the salvage says where
        the logs diverge. They get the first record at this time or after, by the records' own timestamps, or the log
        end if there is none. Without it, present offsets are set to the log end, and groups with a saved offset beyond
        the log end are named.
      - The time of the election or shortly before lets them read all records that were written since.
      - A time with its zone, such as V(2026-01-31T02:00:00Z).
    type: str
  overwrite_groups:
    description:
      - Groups that get their saved offsets although they have committed since the election, or their offsets were
        reset, deleted or expired since, or this is unknown.
      - The groups are also changed if it is in doubt up to where their offsets are valid for the present log.
      - Groups that are not named here are left alone then.
    type: list
    elements: str
  plan_output_file:
    description:
      - Where to write the plan. Nothing is changed. The file must not exist.
    type: path
  plan_file:
    description:
      - The plan to carry out, or without O(apply) to compare with the cluster.
      - O(salvage_dir) and O(groups) may be left out. If they are given, the plan must be of them.
    type: path
  plan_digest:
    description:
      - The digest that was approved. Another plan is refused.
    type: str
  apply:
    description:
      - Whether to commit. Otherwise, this only looks.
    type: bool
    default: false
  abort_hanging_transactions:
    description:
      - Whether to abort hanging transactions too. An abort cannot be undone. Needs O(apply).
    type: bool
    default: false
  undo_file:
    description:
      - Where to write the committed offsets before the change. Required with O(apply).
      - C(kafka-consumer-groups.sh --reset-offsets --from-file) reads it. A group that had no offset is not in it.
      - If it exists, for example after a killed run, a number is added to its name.
      - Start offsets of share groups are written to the same path with C(.share-groups) at its end.
      - The transactions that are to be ended are written to the same path with C(.transactions) at its end.
    type: path
  max_rows:
    description:
      - How many committed offsets the result has at most. The report file has all.
    type: int
    default: 1000
seealso:
  - module: kafkaops.recovery.replica_log_salvage
  - module: kafkaops.recovery.unclean_recovery
requirements:
  - aiokafka >= 0.12, crc32c >= 2.7 and pyarrow >= 20, for O(salvage_dir)
notes:
  - Needs DESCRIBE on the cluster, on topics and on groups, READ on topics for leader epochs, and, to commit, READ on
    groups and topics. To read of unclean elections, needs CLUSTER_ACTION on the cluster at the controllers.
  - To tell open transactions that end from those that hang, needs READ on topics and DESCRIBE on transactional ids and
    on C(__transaction_state), and DESCRIBE_CONFIGS on the cluster. To end transactions, needs ALTER on the cluster.
  - The module recognizes a commit of a topic that was re-created since only by the topic id, if the commit is saved and
    has one, or by a leader epoch above the present one. Otherwise leave its groups out, or review the plan.
"""

EXAMPLES = r"""
- name: Show which groups need their offsets back
  kafkaops.recovery.group_recovery:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31

- name: Give them back
  kafkaops.recovery.group_recovery:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31
    undo_file: /var/tmp/offsets-before.csv
    apply: true

- name: Abort transactions that their coordinators forgot, too
  kafkaops.recovery.group_recovery:
    bootstrap_servers: kafka2.example.com:9092
    undo_file: /var/tmp/offsets-before.csv
    abort_hanging_transactions: true
    apply: true
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
salvage_ids: {type: list, elements: str, returned: success, description: Ids of the salvages that were read.}
plan_digest:
  description: The digest of the plan that was read or written. Null if there is no plan file.
  returned: success
  type: str
summary:
  description: How many committed offsets ended in each status.
  returned: success
  type: dict
  sample: {given_back: 3, would_give_back: 0, done_before: 0, left_alone: 0, has_members: 1, changed: 0, unknown: 0,
    stopped: 0, failed: 0}
truncated: {type: bool, returned: success, sample: false, description: Whether C(commits) or C(transactions) is cut.}
transaction_summary:
  description: How many open transactions that no coordinator has ended in each status.
  returned: success
  type: dict
  sample: {committed: 0, would_commit: 0, aborted: 1, would_abort: 0, done_before: 0, hanging: 0, recent: 0, changed: 0,
    unknown: 0, stopped: 0, failed: 0}
transactions:
  description: The open transactions that no coordinator has, in order of topic, partition and producer.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: The topic.}
    partition: {type: int, description: The partition.}
    producer_id: {type: int, description: The producer's id.}
    start_offset: {type: int, description: Where it starts. C(read_committed) consumers stop here.}
    last_timestamp_ms: {type: int, description: "Time of its newest record, by the producer's clock. Null if unknown."}
    ending:
      description:
        - V(commit) or V(abort) if the salvage has this marker, and the present log lacks it. Otherwise V(not_known).
      type: str
      choices: [commit, abort, not_known]
    status:
      description:
        - V(committed) or V(aborted) if it is not open any more after that, and V(would_commit) or V(would_abort) if
          nothing was to be changed.
        - V(hanging) if nobody allowed to abort it, V(recent) if its producer may still use it, V(changed) if its
          producer has written since, and V(unknown) if a coordinator or the leader did not answer.
      type: str
      choices: [committed, would_commit, aborted, would_abort, done_before, hanging, recent, changed, unknown, stopped,
        failed]
    reason: {type: str, description: "Why, in words."}
  sample:
    - topic: orders
      partition: 0
      producer_id: 4711
      start_offset: 320
      last_timestamp_ms: 1769900400000
      ending: not_known
      status: aborted
      reason: ""
transactions_file:
  description: The file with the transactions that were to be ended. Null if none was.
  returned: success
  type: str
commits:
  description: The committed offsets that need a change, in order of group, topic and partition.
  returned: success
  type: list
  elements: dict
  contains:
    group: {type: str, description: The group.}
    topic: {type: str, description: The topic.}
    partition: {type: int, description: The partition.}
    need:
      description:
        - V(went_back) if the salvage has a newer commit, V(beyond_end) if it is beyond the log end, V(below_start) if
          it is before the log start, V(no_state) if a share group has no start offset, and V(other_records) if the log
          has other records before it than the group has read.
      type: str
      choices: [went_back, beyond_end, below_start, no_state, other_records]
    status:
      description:
        - V(given_back) if the new offset was read back, and V(would_give_back) if nothing was to be changed.
        - V(has_members) if the consumers of the group run, and V(changed) if the group has committed since the plan.
        - V(left_alone) if the group was changed since the election.
      type: str
      choices: [given_back, would_give_back, done_before, left_alone, has_members, changed, unknown, stopped, failed]
    reason: {type: str, description: "Why, in words."}
    committed: {type: int, description: The committed offset before. Null if there was none.}
    saved: {type: int, description: The committed offset in the salvage. Null if it has none.}
    log_start: {type: int, description: Where the log starts.}
    log_end: {type: int, description: Where the log ends.}
    target: {type: int, description: The offset that is committed.}
  sample:
    - group: billing
      topic: orders
      partition: 0
      need: went_back
      status: given_back
      reason: the salvage has this commit
      committed: 20
      saved: 200
      log_start: 0
      log_end: 350
      target: 200
unknown:
  description: Groups and transactions that could not be looked at, each with C(groups) and C(reason).
  returned: success
  type: list
  elements: dict
undo_file: {type: str, returned: success, description: The file with the former offsets. Null if nothing was written.}
share_undo_file: {type: str, returned: success, description: "The same for share groups' start offsets, or null."}
notes: {type: list, elements: str, returned: success, description: "What else a person should know."}
"""

from collections.abc import Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, stop_on_signals

ARGUMENTS = (
    CONNECTION
    + JOURNAL
    + QUORUM_PREFLIGHT
    + PROGRESS
    + Arguments(
        argument_spec={
            "salvage_dir": {"type": "list", "elements": "path"},
            "groups": {"type": "list", "elements": "str"},
            "beyond_end_time": {"type": "str"},
            "overwrite_groups": {"type": "list", "elements": "str"},
            "plan_output_file": {"type": "path"},
            "plan_file": {"type": "path"},
            "plan_digest": {"type": "str"},
            "apply": {"type": "bool", "default": False},
            "abort_hanging_transactions": {"type": "bool", "default": False},
            "undo_file": {"type": "path"},
            "report_file": {"type": "path"},
            "max_rows": {"type": "int", "default": 1000},
        }
    )
)


def main() -> None:
    module = AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True)
    run(module, results, needs=(*KAFKA, *RECORDS) if module.params["salvage_dir"] else KAFKA)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.group_module import (
        restore_groups,
    )
    from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.results import results_of

    def read_saved(places: Sequence[str]) -> Any:
        from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import read_saved_offsets

        return read_saved_offsets(places)

    done = restore_groups(module.params, read_saved, check_mode=module.check_mode, stop=stop)
    results = results_of(done, module.params["max_rows"], is_look=not module.params["apply"])
    for note in results["notes"]:
        module.warn(note)
    return results


if __name__ == "__main__":
    main()
