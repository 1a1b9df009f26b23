# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that applies metadata late, as a loaded one does. It follows the controllers all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.cut_off import restart_with_rule
from lab.node import Broker

_RULE = """
RULE metadata is applied late
CLASS org.apache.kafka.image.loader.MetadataLoader
METHOD maybePublishMetadata
AT ENTRY
BIND flag = new java.io.File("{flag}")
IF flag.exists()
DO java.lang.Thread.sleep({late_ms}L)
ENDRULE
"""
LATE_MS = 60_000


@dataclass(frozen=True)
class SlowMetadata:
    """A switch in one broker, which Byteman reads."""

    broker: Broker

    def prepare(self) -> None:
        """Start the broker again, with the switch. Returns when it is ready."""
        restart_with_rule(self.broker, _RULE.format(flag=self._flag, late_ms=LATE_MS))

    @contextmanager
    def applied_late(self) -> Iterator[None]:
        """Within it, the broker applies new metadata after LATE_MS. The last update may be late after it, too."""
        self._flag.touch()
        try:
            yield
        finally:
            self._flag.unlink()

    @property
    def _flag(self) -> Path:
        return self.broker.cluster.work_dir / f"slow-metadata-{self.broker.node_id}"
