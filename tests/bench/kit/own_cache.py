# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A new cache directory of a user, so that the benchmark decides whether runs find Spark's class archive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.waiting import wait_until

_SECONDS_TO_ARCHIVE = 180.0


class OwnCache:
    """An empty cache directory for playbooks and sessions."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a process that uses this directory."""
        return {"XDG_CACHE_HOME": str(self._directory)}

    def wait_for_archive(self) -> None:
        """Wait until the JVM of the first session has written the class archive, which it does in the background.

        Raises TimeoutError.
        """
        wait_until(self._has_archive, _SECONDS_TO_ARCHIVE, what=f"a class archive in {self._directory}")

    def _has_archive(self) -> bool:
        """Return whether an archive is complete: Java writes the header last."""
        for archive in self._directory.rglob("*.jsa"):
            with archive.open("rb") as file:
                return any(file.read(4))
        return False


@contextmanager
def own_cache() -> Iterator[OwnCache]:
    """Yield a new cache directory, and remove it at the end."""
    with TemporaryDirectory(prefix="kafkaops-bench-", ignore_cleanup_errors=True) as name:
        yield OwnCache(Path(name))
