# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A commit that is to be given back."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import Choice, CommitNeed, CommitStep

STEP = CommitStep(
    group="billing",
    topic="orders",
    partition=0,
    topic_id="AAAAAAAAAAAAAAAAAAAAAg",
    leader_epoch=4,
    need=CommitNeed.WENT_BACK,
    committed=20,
    saved=50,
    log_start=0,
    log_end=90,
    target=50,
    target_epoch=3,
    target_metadata="",
    choice=Choice.GIVE_BACK,
    reason="the salvage has this commit",
)
