# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write docs/schemas/ from the collection.

``PYTHONPATH=.venv/collections .venv/bin/python tests/update_schemas.py``
"""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.report import LOG_CLEANER_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.partitions_file import PARTITIONS_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.report import EXPOSURE_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import GROUP_PLAN, GROUP_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.report import LEADERSHIP_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.assessment import QUORUM_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import QUORUM_RECOVERY_PLAN
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.report import QUORUM_RECOVERY_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import READINESS_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import DESIGNATIONS_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import REPORT_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import PLAN_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import (
    REDUNDANCY_PLAN,
    REDUNDANCY_REPORT,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import SALVAGE_MANIFEST
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.report import DISK_REPORT, REPLAY_REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import STOP_GATE_REPORT

DIRECTORY = Path(__file__).parents[1] / "docs" / "schemas"


def published() -> dict[Path, str]:
    """Return what is in each file of docs/schemas/."""
    schemas = {
        "designations-file": DESIGNATIONS_FILE,
        "exposure-report": EXPOSURE_REPORT,
        "group-plan": GROUP_PLAN,
        "group-report": GROUP_REPORT,
        "leadership-report": LEADERSHIP_REPORT,
        "log-cleaner-report": LOG_CLEANER_REPORT,
        "partitions-file": PARTITIONS_FILE,
        "plan-file": PLAN_FILE,
        "quorum-recovery-plan": QUORUM_RECOVERY_PLAN,
        "quorum-recovery-report": QUORUM_RECOVERY_REPORT,
        "quorum-report": QUORUM_REPORT,
        "readiness-report": READINESS_REPORT,
        "redundancy-plan": REDUNDANCY_PLAN,
        "redundancy-report": REDUNDANCY_REPORT,
        "replay-report": REPLAY_REPORT,
        "report-file": REPORT_FILE,
        "salvage-manifest": SALVAGE_MANIFEST,
        "salvage-report": DISK_REPORT,
        "stop-gate-report": STOP_GATE_REPORT,
    }
    return {DIRECTORY / f"{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}


if __name__ == "__main__":
    for path, text in published().items():
        path.write_text(text, encoding="utf-8")
