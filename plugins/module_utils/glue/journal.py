# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the journal is; the doc fragment ``journal`` describes the option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.file_journal import default_directory

JOURNAL = Arguments(argument_spec={"journal_dir": {"type": "path"}})


def journal_directory(params: Mapping[str, Any]) -> str:
    """The directory of the journals; it need not exist yet."""
    return params["journal_dir"] or default_directory()
