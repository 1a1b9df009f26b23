# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The root of every error that this collection raises on purpose. Standard library only."""

from __future__ import annotations


class KafkaOpsError(Exception):
    """What failed, what was found and what to do, in one text for the person on call. Holds no secret.

    Only the glue turns it into ``fail_json``.
    """
