# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The warning about a member of the ISR or ELR that returned with fewer records than others."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.controller_model import acceptable_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import warn_of_lossy_leader
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import forecast_losses
from unit.recovery.wreckage import a_candidate, an_offline_partition

# As found on real brokers after broker 1, the last leader, came back with a new disk.
ON_3_9 = an_offline_partition(isr=(1,))
ON_4_3 = an_offline_partition(last_known_elr=(1,))


def warned(partition: PartitionState, *candidates: Candidate) -> str | None:
    return warn_of_lossy_leader(partition, acceptable_replicas(partition), forecast_losses(partition, candidates, ()))


@pytest.mark.parametrize("partition", [ON_3_9, ON_4_3])
def test_an_empty_log_is_about_to_lead(partition: PartitionState) -> None:
    assert warned(partition, a_candidate(3, (0, 15)), a_candidate(2, (0, 10)), a_candidate(1)) == (
        "the controller elects broker 1 by itself, at the next change of the partition; electing 1 loses offsets "
        "0..14 (15 records) that replica 3 holds and offsets 0..9 (10 records) that replica 2 holds, 15 records in "
        "all. To keep these records, stop broker 1 first, and only then recover the partition"
    )


def test_no_warning_if_the_next_leader_holds_all_records() -> None:
    assert warned(ON_3_9, a_candidate(1, (0, 15)), a_candidate(2, (0, 10))) is None


@pytest.mark.parametrize("partition", [ON_3_9, ON_4_3])
def test_no_warning_of_the_best_replica_despite_a_longer_older_log(partition: PartitionState) -> None:
    assert warned(partition, a_candidate(1, (0, 10), (2, 15)), a_candidate(2, (0, 10), (1, 30))) is None


def test_no_warning_if_no_leader_is_elected() -> None:
    stopped = an_offline_partition(isr=(1,), offline=(1,))
    assert warned(stopped, a_candidate(3, (0, 15)), a_candidate(1)) is None
