# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options for how much loss to accept; module_utils/_recovery/policies.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_strategy:
    description:
      - How much loss to accept to recover a partition, as in KIP-966.
      - V(none) never loses a committed record. V(balanced) waits for replicas that are known to hold all committed
        records, and otherwise compares all replicas that may hold the most. V(aggressive) elects the best replica that
        answers.
      - V(from_config) is V(aggressive) for a topic whose C(unclean.leader.election.enable) is true, and otherwise
        V(balanced). If the topic has no value, the brokers' value counts. If brokers differ, it is V(balanced).
    type: str
    choices: [none, balanced, aggressive, from_config]
    default: balanced
  max_lost_records:
    description:
      - Refuse an election that is known to lose more records than this. Records that only dead replicas hold are
        unknown, and do not prevent an election.
      - There is no limit by default.
    type: int
  proof:
    description:
      - Whether a proof is sufficient where V(balanced) waits for replicas that hold all committed records.
      - With V(accept), V(balanced) elects the best surviving replica if the controllers' metadata log proves that this
        replica holds every record that was acknowledged with C(acks=all). Records that only the last leader had
        acknowledged are then lost, like records of producers with C(acks=1).
      - Some proofs assume what no log shows, and name it. V(strict) accepts those that assume nothing.
      - Needs the addresses of the controllers, and CLUSTER_ACTION there. Without a proof, V(balanced) waits.
    type: str
    choices: [ignore, strict, accept]
    default: ignore
  max_estimated_loss:
    description:
      - Refuse an election that is estimated to lose more records than this. The upper end of the estimate counts, or
        the greatest number of lost records if that is known. If both are unknown, the election is refused.
      - The estimate needs the addresses of the controllers, and CLUSTER_ACTION there.
    type: int
  recordings:
    description:
      - Directory or URI of a recorder, see O(kafkaops.recovery.cluster_recording#module:recorder_dir). What a silent
        last leader held when it was recorded raises the number of records that an election is known to lose, dates it,
        and improves the estimate.
      - A recording is not used, and the reason is named, if the topic was re-created since, or if the broker did not
        lead then. The same applies if the leader epoch shows that another broker led since, or that the leader was
        restarted.
    type: path
  metadata_log_dir:
    description:
      - A log directory of a controller or broker on the host that runs the module. The history of offline partitions is
        read from the copy of the metadata log in it if O(bootstrap_controllers) is not given, or if none of these
        controllers returns its log.
      - The node should run. A copy that ends earlier dates the outage, but proves nothing about records that were
        acknowledged with C(acks=all).
      - A copy of another cluster, a truncated one, and one without the snapshot that it needs are named, and the plan
        is made without a history.
    type: path
  allow_empty_leader:
    description:
      - Elect an empty log although another replica holds records, or may hold records because it does not answer. The
        partition is then empty for good, because every other replica deletes its records when it follows.
      - Without it, the partition is refused, also if O(recovery_strategy) and O(max_lost_records) allow the election.
    type: bool
    default: false
  acknowledge_unclean_leader_election:
    description:
      - Continue although C(unclean.leader.election.enable) is true for a topic, by its own config or by a broker's. The
        controller then elects leaders by itself, without a comparison of logs, and may be faster.
    type: bool
    default: false
  allow_dropping_unregistered:
    description:
      - Drop brokers that are not registered from the replica set of a partition, if it cannot be recovered otherwise.
        The controller refuses every new replica order that names an unregistered broker.
      - Nothing is dropped if an election of the present order elects the best replica.
      - Dropped brokers are not added again. The plan and the report name them, and the order of the other replicas is
        restored.
      - Before Kafka 4.0, a broker that is not listed may be fenced or not registered. The controller is asked to check
        the creation of a topic C(_kafkaops_run) on it, which needs CREATE on that name. It creates nothing.
    type: bool
    default: false
"""

    HOST_BOOT_TIMES = r"""
options:
  host_boot_times:
    description:
      - When the hosts of brokers booted, by broker id, as RFC 3339 times with a zone. A process that is killed loses
        nothing while its host runs. A host that loses power loses records that were not synced. No log of Kafka shows
        the difference. So a replica of a killed broker has a proof only if its host is named here, and booted before
        the kill.
      - Name a host only if its broker has not moved to another one since.
    type: dict
"""
