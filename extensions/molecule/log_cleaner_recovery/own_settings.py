# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints the dynamic settings of the broker whose threads were dead, as JSON: ``own_settings.py STATE_FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource

_TIMEOUT_S = 30.0


def main(state_file: Path) -> None:
    """One JSON object on stdout: name and value."""
    state = json.loads(state_file.read_text(encoding="utf-8"))
    resource = ConfigResource(ConfigResource.Type.BROKER, str(state["dead"]))
    admin = AdminClient({"bootstrap.servers": state["bootstrap_servers"]})
    entries = admin.describe_configs([resource])[resource].result(_TIMEOUT_S)
    own = ConfigSource.DYNAMIC_BROKER_CONFIG.value
    json.dump({name: entry.value for name, entry in entries.items() if entry.source == own}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
