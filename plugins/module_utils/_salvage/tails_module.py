# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Save the records of losers in a run of designated_election or unclean_recovery, and build its results."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._documents.files import why_temporary
from .._kafka.cluster import describe_cluster
from .._kafka.settings import ConnectionSettings
from .._kafka.wire import Wire
from .._model.log_contents import SaveTails, Stretches, Tail
from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError, Progress
from .._module.libraries import KAFKA, RECORDS, missing_libraries_message
from .._spark.options import SparkOptions, is_uri, local_spark_options, parse_spark_options, require_settings_reference
from .account import Account
from .directory import OtherSalvageError, check_destination
from .manifest import MANIFEST
from .options import Salvage, resolve_place

if TYPE_CHECKING:
    from .from_replicas import TailSalvage, TailSaver

# In most runs no loser has records of its own, so the libraries of Spark are imported only when they are needed.
# ruff: noqa: PLC0415

_MOST_NAMED = 20
_INSIDE = "salvage"
_ELSEWHERE = (
    "set salvage_dir (of the role: unclean_recovery_salvage_dir) to a directory that outlives this run, or to a URI"
)


@dataclass(slots=True)
class RunTails:
    """Saves the tails of one run, and keeps the result."""

    params: Mapping[str, Any]
    check_mode: bool = False
    held: dict[TopicPartition, Stretches] = field(default_factory=dict)
    """Offsets that losers hold, by partition."""
    done: TailSalvage | None = None
    saved_in: str = ""
    """The directory with the records: ``salvage_dir``, or the same name with a number."""
    failure: str = ""
    """Why nothing was saved; empty if it was."""

    @property
    def is_wanted(self) -> bool:
        return self.params["salvage"] != Salvage.OFF and not self.check_mode

    def check(self) -> None:
        """Check the options before the run. Raises KafkaOpsError, also if ``salvage`` is required and cannot work."""
        if not self.is_wanted:
            return
        if not self.params["salvage_dir"]:
            raise KafkaOpsError(f"salvage is {self.params['salvage']}, and salvage_dir does not say where to save to")
        place = self.place
        self._choose_spark()
        if self.params["salvage"] != Salvage.REQUIRED:
            return
        if self._reason_not_lasting:
            raise KafkaOpsError(
                f"salvage is required, and {self._reason_not_lasting}, so the saved records would be lost with it: "
                f"{_ELSEWHERE}"
            )
        if is_uri(place):
            from .remote import check_remote

            check_remote(place)
        else:
            check_destination(place)

    def saver(self, settings: ConnectionSettings, progress: Progress) -> SaveTails | None:
        """Return the function that saves tails before elections; None to save none."""
        return partial(self._save, settings, progress) if self.is_wanted else None

    def _save(
        self, settings: ConnectionSettings, progress: Progress, tails: Sequence[Tail]
    ) -> dict[TopicPartition, str]:
        from .from_replicas import TailSaver, merge_tails

        self.held = merge_tails(tails)
        try:
            missing = missing_libraries_message((*KAFKA, *RECORDS))
            if missing:
                raise KafkaOpsError(missing)
            with Wire(settings) as wire:
                cluster = describe_cluster(wire)
            spark, reference = self._choose_spark()
            saver = TailSaver(
                settings,
                cluster.cluster_id,
                cluster.addresses,
                self.place,
                spark,
                progress,
                settings_reference=reference,
            )
            self.done = self.save_beside_others(saver, tails)
            failures, self.held = self.done.failures, self.done.held
        except (KafkaOpsError, OSError) as error:
            self.failure = f"the records that only losers hold were not saved: {error}"
            failures = dict.fromkeys(self.held, self.failure)
        return failures if self.params["salvage"] == Salvage.REQUIRED else {}

    def save_beside_others(self, saver: TailSaver, tails: Sequence[Tail]) -> TailSalvage:
        """Save to ``salvage_dir``. If it has the records of another incident, save to DIR-2, DIR-3 and so on.

        A scheduled job names the same directory each time. Raises KafkaOpsError if nothing could be saved.
        """
        number = 1
        while True:
            self.saved_in = saver.destination
            try:
                return saver.save(tails)
            except OtherSalvageError:
                number += 1
                saver = replace(saver, destination=f"{self.place}-{number}")

    def _choose_spark(self) -> tuple[SparkOptions | None, str | None]:
        """Return Spark's options, and the path of the connection settings on the executors' hosts.

        The options are None if the operator set none. The path is None if a file on this host is enough.

        Spark runs on this host to write a local directory. It also does so in place of Spark Connect: a remote
        directory is created by the JVM of our own session, which a Connect server does not share.

        Raises SparkOptionsError.
        """
        given = self.params.get("spark")
        options = parse_spark_options(given)
        if options is None or options.is_local:
            return options, None
        if options.remote is not None or not is_uri(self.place):
            return local_spark_options(given, SparkOptions().driver_memory), None
        return options, require_settings_reference(given or {}, options)

    @property
    def place(self) -> str:
        """The directory to create. One that exists and is no salvage, such as a mounted volume, gets it inside."""
        place = resolve_place(self.params["salvage_dir"])
        is_volume = not is_uri(place) and os.path.isdir(place) and not os.path.isfile(os.path.join(place, MANIFEST))
        return os.path.join(place, _INSIDE) if is_volume else place

    @property
    def _reason_not_lasting(self) -> str:
        """Why saved records would not last; empty if they do."""
        return "" if is_uri(self.place) else why_temporary(Path(self.place))

    def warnings(self) -> list[str]:
        """Return warnings about records that could not be saved or will not last, if elections continued."""
        if self.params["salvage"] == Salvage.REQUIRED:
            return []
        if self.failure:
            return [self.failure]
        if self.done is None:
            return []
        warnings = []
        reason = self._reason_not_lasting if self.done.manifest is not None else ""
        if reason:
            warnings.append(f"copy the saved records away, because {reason}; next time, {_ELSEWHERE}")
        failures = sorted(self.done.failures.items())[:_MOST_NAMED]
        return warnings + [f"{partition}: {why}" for partition, why in failures]

    def results(self, refused: Collection[TopicPartition]) -> dict[str, Any]:
        """Return the module's result, with one row per partition in order of topic and partition number.

        Partitions in ``refused`` were not elected, so their losers still hold all their records.
        """
        manifest = self.done.manifest if self.done is not None else None
        saved = manifest.by_partition if manifest else {}
        failures = self.done.failures if self.done is not None else dict.fromkeys(self.held, self.failure)
        return {
            "salvage_id": manifest.salvage_id if manifest else None,
            "salvage_dir": self.saved_in if manifest else None,
            "partitions": [
                {
                    "topic": each.topic,
                    "partition": each.partition,
                    **asdict(
                        Account(
                            held=list(held),
                            salvages=[saved[each]] if each in saved else [],
                            is_elected=each not in refused,
                        ).balance()
                    ),
                    "reason": failures.get(each, ""),
                }
                for each, held in sorted(self.held.items())
            ],
        }
