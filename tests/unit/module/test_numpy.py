# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module imports neither NumPy nor pandas, until PySpark needs them. Each test uses a new process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PLUGINS = "ansible_collections.kafkaops.recovery.plugins"
_MODULE = f"import sys, {_PLUGINS}.modules.unclean_recovery; "
_TABLES = (
    f"from {_PLUGINS}.module_utils._recovery.rows import REPLICA_LOG_SCHEMA; import pyarrow as pa; "
    "REPLICA_LOG_SCHEMA.empty_table(); pa.table({'row': [1, 2]}).filter(pa.array([True, False])).to_pylist(); "
)
_WANTED = f"from {_PLUGINS}.module_utils._module.libraries import missing_libraries_message as missing; "
_IMPORTED = "print(sys.modules.get('numpy') is not None, sys.modules.get('pandas') is not None)"


def output_of(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_arrow_tables_need_neither() -> None:
    assert output_of(_MODULE + _TABLES + _IMPORTED) == "False False"


@pytest.mark.parametrize("before", ["", _TABLES])
def test_a_library_that_is_asked_for_is_there(before: str) -> None:
    asked = f"{_WANTED} assert not missing(('pandas', 'pyspark')); import pandas; "
    assert output_of(_MODULE + before + asked + _IMPORTED) == "True True"
