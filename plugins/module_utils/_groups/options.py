# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read and check the options of the module group_recovery, in one pass and before any request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .._changes.journal_reader import JournalOptions
from .._documents.report_file import ReportFile
from .._kafka.offset_records import SavedCommits
from .._kafka.settings import ConnectionSettings, ControllerListeners
from .._model.reasons import join_first
from .._model.run import KafkaOpsError
from .._module.connection import connection_settings, controller_listeners
from .._module.options import find_plan_contradictions, journal_options, read_time
from .._module.run import call_all
from .plan import GroupPlan
from .plan_file import GROUP_PLAN_FILE

_OLDEST = datetime(1970, 1, 2, tzinfo=UTC)
"""Kafka gives timestamps below 0 a meaning of their own (ListOffsets): -1 is the log end."""

ReadSaved = Callable[[Sequence[str]], tuple[str, SavedCommits]]
"""Returns the cluster id of salvage directories, and what they have together."""


class GroupOptionsError(KafkaOpsError):
    """The options contradict each other, or the salvage is of another cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """What to look at, and what may be changed."""

    settings: ConnectionSettings
    controllers: ControllerListeners
    journal: JournalOptions
    report: ReportFile
    salvage_dirs: Sequence[str]
    of_cluster: str
    """The cluster of the salvages. Empty if none is given."""
    saved: SavedCommits
    plan_file: str
    given: GroupPlan | None
    """The plan in that file."""
    plan_output_file: str
    groups: frozenset[str] | None
    """None means all."""
    overwrite_groups: tuple[str, ...]
    beyond_end_time: datetime | None
    may_abort: bool
    """Whether hanging transactions may be aborted."""
    apply: bool
    undo_file: str

    def check_cluster(self, cluster_id: str) -> None:
        """Raise GroupOptionsError if the salvage is of another cluster."""
        if self.of_cluster and self.of_cluster != cluster_id:
            raise GroupOptionsError(
                f"the salvage in {', '.join(self.salvage_dirs)} is of cluster {self.of_cluster}, but this is cluster "
                f"{cluster_id}: give the salvage of this cluster"
            )


def read_options(params: Mapping[str, Any], read_saved: ReadSaved) -> GroupOptions:
    """Return the options of a run. Raises KafkaOpsError with all that cannot be used."""
    groups, places, plan_file = params["groups"], params["salvage_dir"] or (), params["plan_file"] or ""
    settings, controllers, report, given, (of_cluster, saved), beyond_end_time, _checked = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: ReportFile(params["report_file"]),
        lambda: GROUP_PLAN_FILE.read(plan_file, params["plan_digest"]) if plan_file else None,
        lambda: read_saved(places) if places else ("", SavedCommits()),
        lambda: _read_beyond_end_time(params["beyond_end_time"]),
        lambda: _check(params),
    )
    options = GroupOptions(
        settings=settings,
        controllers=controllers,
        journal=journal_options(params),
        report=report,
        salvage_dirs=places,
        of_cluster=of_cluster,
        saved=saved,
        plan_file=plan_file,
        given=given,
        plan_output_file=params["plan_output_file"] or "",
        groups=None if groups is None else frozenset(groups),
        overwrite_groups=tuple(params["overwrite_groups"] or ()),
        beyond_end_time=beyond_end_time,
        may_abort=params["abort_hanging_transactions"],
        apply=params["apply"],
        undo_file=params["undo_file"] or "",
    )
    if given is not None:
        require_same_wish(given, options.groups, saved if places else None)
    return options


def require_same_wish(given: GroupPlan, groups: frozenset[str] | None, saved: SavedCommits | None) -> None:
    """Raise GroupOptionsError if the plan is of another salvage, or of other groups, than what is given beside it."""
    errors = []
    if saved is not None and saved.salvage_ids != given.salvage_ids:
        ids, planned = (", ".join(each.salvage_ids) for each in (saved, given))
        errors.append(f"salvage_dir has salvage {ids}, but the plan is of {planned or 'none'}")
    if groups is not None and (others := {each.group for each in given.commits} - groups):
        errors.append(f"the plan also has groups that were not asked for: {join_first(sorted(others))}")
    if errors:
        raise GroupOptionsError("\n".join([*errors, "Leave this out, or make a new plan"]))


def _check(params: Mapping[str, Any]) -> None:
    errors = [*find_plan_contradictions(params), *_find_contradictions(params)]
    if errors:
        raise GroupOptionsError("\n".join(errors))


def _find_contradictions(params: Mapping[str, Any]) -> Iterator[str]:
    groups, overwrite = params["groups"], params["overwrite_groups"]
    if params["salvage_dir"] is not None and not params["salvage_dir"]:
        yield "salvage_dir is empty: leave it out to compare only the present commits with the logs"
    if params["plan_file"] and params["beyond_end_time"]:
        yield "a plan says itself where groups continue: give no beyond_end_time with it"
    if params["apply"] and not params["undo_file"]:
        yield "undo_file is missing: name a new file for the committed offsets before the change"
    if params["abort_hanging_transactions"] and params["plan_output_file"]:
        yield "a plan has every hanging transaction: allow the aborts when it is carried out"
    if overwrite and params["plan_file"]:
        yield "a plan says itself what it overwrites: give no overwrite_groups with it"
    if groups and (others := {*(overwrite or ())}.difference(groups)):
        yield f"overwrite_groups has groups that were not asked for: {join_first(sorted(others))}"
    if groups is not None and not groups:
        yield "groups is empty: leave it out to look at every group"


def _read_beyond_end_time(text: str | None) -> datetime | None:
    time = read_time("beyond_end_time", text)
    if time is not None and not _OLDEST <= time <= datetime.now(UTC):
        raise GroupOptionsError(f"beyond_end_time is {text!r}, which is in the future or before {_OLDEST.date()}")
    return time
