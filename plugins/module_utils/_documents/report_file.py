# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report file of any operation: refused before the work when it cannot be written, written after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._model.run import garbage_collection_paused, utc_now
from .dataclass_json import Schema
from .errors import DocumentError, raise_if_problems
from .files import format_document_parts, refuse_existing, write_new_file
from .validation import schema_problems


class ReportFile:
    """The report file that a task asked for, or none. Created before the work, for the time of its start.

    Raises DocumentError when the file exists or cannot be created.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._started_at = utc_now()
        if path is not None:
            refuse_existing(path)

    @garbage_collection_paused()
    def write(self, document_at: Callable[[str, str], dict[str, Any]], schema: Schema | None = None) -> None:
        """Write what ``document_at`` makes of the times of start and end, mode 0600, if a file was asked for.

        Raises DocumentError when it cannot be written, and when it does not meet the schema.
        """
        if self._path is None:
            return
        document = document_at(self._started_at, utc_now())
        if schema is None:
            write_new_file(self._path, format_document_parts(document))
        else:
            write_document(self._path, document, schema)

    def write_or_explain(self, document_at: Callable[[str, str], dict[str, Any]], schema: Schema | None = None) -> str:
        """Write the report after a change, and return why it could not be written: the outcome must be returned.

        Empty when it was written, and when no file was asked for.
        """
        try:
            self.write(document_at, schema)
        except DocumentError as error:
            return f"the report is not written: {error}"
        return ""


def write_document(path: str, document: dict[str, Any], schema: Schema) -> None:
    """Write a document into a new file, mode 0600.

    Raises DocumentError when something has that name already (``files.refuse_existing`` finds that beforehand), when it
    cannot be written, and when it does not meet its schema.
    """
    raise_if_problems(path, schema_problems(document, schema))
    write_new_file(path, format_document_parts(document))
