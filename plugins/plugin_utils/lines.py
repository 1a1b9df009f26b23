# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results as lines, for where there is no terminal: AWX, CI, a file. Standard library only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import wording
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.wording import Result


def replica_lines(partitions: Sequence[Result], known: Collection[str]) -> Iterator[str]:
    """One line for each replica, best first, the silent last; ``known`` are errors that are told elsewhere."""
    for partition in partitions:
        name = wording.partition_name(partition)
        for each in partition["candidates"]:
            flags = f" [{', '.join(each['flags'])}]" if each["flags"] else ""
            yield (
                f"{name}: rank {each['rank']}: broker {each['broker_id']}, last written epoch "
                f"{wording.number(each['last_written_epoch'])}, offsets {each['log_start_offset']} to "
                f"{each['log_end_offset']}, {wording.size(each['size_bytes'])}{flags}: {wording.reason_of_rank(each)}"
            )
            if loss := wording.loss_in_words(partition, each):
                yield f"{name}: {loss}"
        for each in partition["silent"]:
            yield f"{name}: broker {each['broker_id']}: {wording.reason_of_silence(each, known)}"


def outcome_lines(outcomes: Sequence[Result]) -> Iterator[str]:
    """One line for each partition."""
    for each in outcomes:
        yield (
            f"{wording.partition_name(each)}: {wording.status(each)}: leader {wording.leader_change(each)}, epoch "
            f"{wording.epoch_change(each)}, replicas {wording.replicas(each['replicas'])}: "
            f"{wording.printable(each['reason'])}"
        )
