# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a role says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parents[3] / "roles"


def loaded(role: str, name: str) -> Any:
    """One of the role's YAML files."""
    return yaml.safe_load((ROLES / role / name).read_text(encoding="utf-8"))


def options(role: str) -> dict[str, dict[str, Any]]:
    """Return the role's variables, as its argument specs describe them."""
    described: dict[str, dict[str, Any]] = loaded(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return described
