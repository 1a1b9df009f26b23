# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much may be lost to get a partition back."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_strategy:
    description:
      - How much to accept to get a partition back, as in KIP-966.
      - V(none) never loses a committed record. V(balanced) waits for replicas that are known to hold all of them, and
        compares all that may hold the most. V(aggressive) takes the best one that answers.
      - V(from_config) is V(aggressive) for a topic whose C(unclean.leader.election.enable) is true, and else
        V(balanced). The broker's value counts where the topic has none. Where brokers differ it is V(balanced).
    type: str
    choices: [none, balanced, aggressive, from_config]
    default: balanced
  max_lost_records:
    description:
      - Refuse an election that is known to lose more records than this. What dead replicas hold beyond what others
        hold is not known, and holds no election back.
      - Without it there is no limit.
    type: int
  acknowledge_unclean_leader_election:
    description:
      - Go on although C(unclean.leader.election.enable) is true for a topic, by its own config or by a broker's. The
        controller then elects by itself, without looking at logs, and may be faster.
    type: bool
    default: false
  allow_dropping_unregistered:
    description:
      - Drop brokers that are not registered from the replica set of a partition, where it cannot be recovered
        otherwise. The controller refuses every new replica order that names such a broker.
      - Nothing is dropped where an election of the present order elects the best replica.
      - What is dropped is not put back. The plan and the report name it, and the order of the others is restored.
      - Before Kafka 4.0, a broker that is not listed may be fenced or not registered. The controller is asked to check
        the creation of a topic C(_kafkaops_run) on it, which needs CREATE on that name. It creates nothing.
    type: bool
    default: false
"""
