# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program in another process imports this collection from where it is imported here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.workers import code_for_workers

_MODEL = "ansible_collections.kafkaops.recovery.plugins.module_utils._model"
_BODY = f"from {_MODEL} import partition; print(partition.__file__)"


def test_a_module_that_ansible_packed_has_it_in_its_zip_file(tmp_path: Path) -> None:
    archive = code_for_workers(tmp_path)
    packed = (
        f"import subprocess, sys; sys.path.insert(0, {str(archive)!r});"
        f"from {_MODEL}.program import program;"
        f"subprocess.run([sys.executable, '-I', '-c', program({_BODY!r})], check=True)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", packed], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{archive}/ansible_collections/")
