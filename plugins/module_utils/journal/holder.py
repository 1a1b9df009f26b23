# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who holds the memory, for whoever finds it held. Standard library only."""

from __future__ import annotations

import getpass
import os
import socket
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.clock import utc_now


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds the memory."""

    run: str
    """A random id."""
    user: str
    host: str
    pid: int
    place: str
    """Host, boot and pid namespace: where the pid means this process. Empty where that cannot be told."""
    since: str

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid}), since {self.since}"

    @property
    def is_surely_dead(self) -> bool:
        """True when it ran here, and its process is gone. From elsewhere that cannot be told."""
        if not self.place or self.place != _place():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ourselves() -> Holder:
    """This run."""
    return Holder(uuid.uuid4().hex, _user(), socket.gethostname(), os.getpid(), _place(), utc_now())


def holder_of(value: dict[str, Any] | None) -> Holder | None:
    """The holder that a record names. Raises TypeError or KeyError for no such record."""
    return Holder(**value["holder"]) if value else None


def _user() -> str:
    # A container's user may have no name.
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _place() -> str:
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"
    return ""
