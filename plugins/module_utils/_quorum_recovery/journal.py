# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a recovery that was begun and not verified: a file beside the metadata directory of the survivor.

It is written before the first change, and removed after the recovery was verified or undone. A killed run leaves it,
and the next run continues with the plan in it. Each write replaces the file as a whole, and is on the disk before the
next step.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from .._disk.log_dir import give_to_owner_of
from .._documents.dataclass_json import codec
from .._documents.files import errors_name, sync_to_disk
from .._model.fields import Meta, SizeBytes
from .node import NodeFileError
from .plan import QuorumPlan

NAME = "kafkaops.recovery-quorum.json"


class RecoveryStep(StrEnum):
    """How far a recovery came on the host of the survivor."""

    CHANGING = "changing"
    """The backup is complete. The log and quorum-state may have been changed, wholly or in part."""
    CHANGED = "changed"
    """All changes are on the disk. The controller may have been started."""
    RESTORING = "restoring"
    """The backup is being put back, wholly or in part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRecovery:
    """What a recovery has begun."""

    step: RecoveryStep
    backup: str
    """Path of the backup."""
    segment_bytes: SizeBytes
    """Size of the segment file before the change, torn bytes included."""
    quorum_state: Annotated[str, Meta(description="the content of quorum-state before the change")]
    plan: QuorumPlan

    def at(self, step: RecoveryStep) -> PendingRecovery:
        return replace(self, step=step)


_CODEC = codec(PendingRecovery, "the journal of a quorum's recovery is an object")


def read_pending(log_dir: str) -> PendingRecovery | None:
    """Return what is pending in a log directory. Raises NodeFileError."""
    path = Path(log_dir, NAME)
    try:
        return _CODEC.decode(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NodeFileError(f"{path} could not be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NodeFileError(
            f"{path} is damaged. It names the backup: restore it by hand, then remove the file"
        ) from None


def write_pending(log_dir: str, pending: PendingRecovery) -> None:
    """Write what is pending, and wait until it is on the disk. Raises OSError."""
    replace_file(str(Path(log_dir, NAME)), json.dumps(_CODEC.encode(pending), indent=1).encode())


def remove_pending(log_dir: str) -> None:
    """End the record. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(Path(log_dir, NAME))
    sync_to_disk(log_dir)


def replace_file(path: str, content: bytes) -> None:
    """Replace a file by new content with the same owner and mode: wholly or not at all, also after a power loss.

    A symbolic link stays, and the file that it names is replaced. Raises OSError.
    """
    path = os.path.realpath(path)
    temporary = f"{path}.kafkaops-new"
    try:
        with errors_name(path):
            _write_like(temporary, content, path if os.path.exists(path) else os.path.dirname(path))
            os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_to_disk(os.path.dirname(path))


def _write_like(path: str, content: bytes, like: str) -> None:
    """Write a file with the owner and the mode of another one, and wait until it is on the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        give_to_owner_of(like, descriptor)
        os.fchmod(descriptor, os.stat(like).st_mode & 0o666)
        os.fsync(descriptor)
