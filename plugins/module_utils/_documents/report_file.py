# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the report file of an operation, after checking before the operation that it can be created."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._model.run import garbage_collection_paused, utc_now
from .dataclass_json import Schema
from .errors import DocumentError, raise_if_problems
from .files import format_report, refuse_existing, write_new_file
from .validation import schema_problems


class ReportFile:
    """The report file of a task, if it has one. Create this object when the work starts, whose time it records.

    Raises DocumentError if the file exists or cannot be created.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._started_at = utc_now()
        if path is not None:
            refuse_existing(path)

    @garbage_collection_paused()
    def write(self, document_at: Callable[[str, str], dict[str, Any]], schema: Schema) -> None:
        """Write the document that ``document_at`` makes for the times of start and end, if a path was given.

        The file gets mode 0600. Raises DocumentError if it cannot be written, or if it does not meet the schema.
        """
        if self._path is not None:
            write_document(self._path, document_at(self._started_at, utc_now()), schema)

    def write_or_explain(self, document_at: Callable[[str, str], dict[str, Any]], schema: Schema) -> str:
        """Write the report at the end, and return the error as text, so that the outcomes are still returned.

        The text is empty if the report was written, or if no path was given.
        """
        try:
            self.write(document_at, schema)
        except DocumentError as error:
            return f"the report is not written: {error}"
        return ""


def write_document(path: str, document: dict[str, Any], schema: Schema) -> None:
    """Write a document to a new file with mode 0600.

    Raises DocumentError if the name already exists (``files.refuse_existing`` checks that beforehand), if it cannot be
    written, or if the document does not meet its schema.
    """
    raise_if_problems(path, schema_problems(document, schema))
    write_new_file(path, format_report(document))
