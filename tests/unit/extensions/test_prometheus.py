# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the alerts and the dashboard refer to is there: pages, headings, playbooks and recorded metrics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[3]
SHIPPED = PROJECT / "extensions" / "prometheus"
RULES = [
    rule
    for group in yaml.safe_load((SHIPPED / "kafka_recovery.rules.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
ALERTS = [rule for rule in RULES if "alert" in rule]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}


@pytest.mark.parametrize("alert", ALERTS, ids=[each["alert"] for each in ALERTS])
def test_an_alert_says_what_to_read_and_what_to_run(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    annotations = alert["annotations"]
    assert annotations.keys() == {"summary", "description", "runbook_url", "playbook"}
    documentation = yaml.safe_load((PROJECT / "galaxy.yml").read_text(encoding="utf-8"))["documentation"]
    page, _separator, heading = (
        annotations["runbook_url"].removeprefix(documentation.removesuffix("README.md")).partition("#")
    )
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    assert heading in {"", *(_anchor(line) for line in text.splitlines() if line.startswith("#"))}
    playbook = annotations["playbook"].removeprefix("kafkaops.recovery.")
    assert (PROJECT / "playbooks" / f"{playbook}.yml").is_file()


def test_everything_that_is_read_is_recorded() -> None:
    dashboard = (SHIPPED / "kafka_recovery.dashboard.json").read_text(encoding="utf-8")
    read = re.findall(r"kafka_recovery:\w+", " ".join([dashboard, *(alert["expr"] for alert in ALERTS)]))
    assert set(read) == RECORDED


def _anchor(heading: str) -> str:
    """Return the fragment that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-")
