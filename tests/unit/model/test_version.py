# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The version in files is the version in galaxy.yml."""

from __future__ import annotations

from pathlib import Path

import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import VERSION

GALAXY = Path(__file__).resolve().parents[3] / "galaxy.yml"


def test_the_version_is_that_of_galaxy_yml() -> None:
    assert yaml.safe_load(GALAXY.read_text(encoding="utf-8"))["version"] == VERSION
