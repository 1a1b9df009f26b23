# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints the dynamic settings of the broker whose threads were dead, as JSON: ``own_settings.py STATE_FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient

from lab.cleaner import own_settings


def main(state_file: Path) -> None:
    """One JSON object on stdout: name and value."""
    state = json.loads(state_file.read_text(encoding="utf-8"))
    json.dump(own_settings(AdminClient({"bootstrap.servers": state["bootstrap_servers"]}), state["dead"]), sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
