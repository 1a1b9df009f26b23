# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A SPARK_HOME from which Python workers do not import PySpark. Standard library only.

Spark puts the zip file of PySpark that is in its home first on its workers' path, and Python compiles all that it
imports from a zip file, each time. A gather starts workers of four kinds one after the other, and that was a third of
the time from a started session to the first ranked result. Without the zip file they import the installed package,
which is compiled already.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.user_cache import trusted_cache

_PARTS = ("bin", "conf", "jars")


def lean_spark_home(package: Path) -> Path:
    """A directory that stays, with links to those parts of the installed PySpark (``package``) that Spark itself needs.

    It stays where it is, because Java takes an archive of classes only for jars of the same path. ``package`` itself
    where the user's cache directory cannot be trusted or written.
    """
    try:
        cache = trusted_cache()
        home = cache / f"spark-home-{hashlib.sha256(os.fsencode(package)).hexdigest()[:16]}"
        if not home.is_dir():
            _make(home, package)
    except OSError:
        return package
    return home


def _make(home: Path, package: Path) -> None:
    """Whole or not at all; another run may make the same one at the same time."""
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".spark-home-", ignore_cleanup_errors=True) as scratch:
        draft = Path(scratch, "home")
        draft.mkdir()
        for part in _PARTS:
            if (package / part).is_dir():
                (draft / part).symlink_to(package / part)
        try:
            draft.rename(home)
        except OSError:
            if not home.is_dir():
                raise
