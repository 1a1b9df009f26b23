# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of saving losers' tails, for designated_election. Imports no library: most runs save nothing."""

from __future__ import annotations

from enum import StrEnum

from .._module.arguments import Arguments
from .._module.options import SPARK


class Salvage(StrEnum):
    """Whether what live replicas are about to delete is saved before."""

    OFF = "off"
    BEST_EFFORT = "best_effort"
    """What cannot be saved is a warning."""
    REQUIRED = "required"
    """A partition whose tails cannot be saved is not elected."""


SALVAGE = SPARK + Arguments(
    argument_spec={
        "salvage": {"type": "str", "choices": [each.value for each in Salvage], "default": Salvage.OFF.value},
        "salvage_dir": {"type": "path"},
    }
)
