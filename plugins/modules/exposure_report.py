#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Report what recordings of clusters show on a quiet day."""

from __future__ import annotations

DOCUMENTATION = r"""
module: exposure_report
short_description: Report what recordings of clusters show on a quiet day
version_added: 1.0.0
description:
  - Reads what M(kafkaops.recovery.cluster_recording) stored of any number of clusters and weeks, and reports by Spark
    which partitions were at or below min ISR and for how long, which brokers left, came back or lagged, what the death
    of each broker would have cost at the worst moment, which partitions have all replicas in one rack, when a disk
    is full, and which log cleaners seem to fall behind.
  - Times between snapshots that are too far apart are named, and count neither as healthy nor as unhealthy.
  - Connects to no broker.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.progress, kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module]
options:
  recordings:
    description:
      - Directory or URI of the recordings, see O(kafkaops.recovery.cluster_recording#module:recorder_dir).
    type: path
    required: true
  scope:
    description:
      - The scope of the recordings, as it was given to the recorder. Recordings of different scopes are apart.
    type: str
    default: ''
  clusters:
    description:
      - Ids of the clusters. By default, of all that were recorded.
    type: list
    elements: str
    default: []
  from:
    description:
      - Begin of the period, with its time zone, such as V(2026-01-31T02:00:00Z). By default, the oldest snapshot.
    type: str
  to:
    description:
      - End of the period. By default, now.
    type: str
  gap_minutes:
    description:
      - A longer interval between two snapshots is a gap. By default, one that is longer than three usual ones (the
        median of the cluster's intervals).
    type: int
  report_file:
    description:
      - Where to write the report as JSON. The file must not exist. It is written in check mode too.
    type: path
  spark:
    description:
      - Where and how Spark runs. By default it runs on the host that runs the module.
      - It must not contain secrets, because Spark shows its settings in event logs and process lists.
    type: dict
    suboptions:
      master:
        description:
          - URL of a cluster's master. Its workers must reach the O(recordings).
        type: str
      remote:
        description:
          - Refused. Recordings need a driver on this host.
        type: str
      driver_memory:
        description:
          - Memory of the driver's JVM, V(2g) unless given.
        type: str
      executor_python:
        description:
          - Without effect, because no task runs Python.
        type: path
      settings_reference:
        description:
          - Without effect, because no task asks a broker.
        type: path
      conf:
        description:
          - Further Spark settings. They override those of this collection.
        type: dict
requirements:
  - jsonschema >= 4.26
  - pyarrow >= 20
  - Java >= 17 and pyspark >= 4.1
seealso:
  - module: kafkaops.recovery.cluster_recording
  - module: kafkaops.recovery.exposure_tables
"""

EXAMPLES = r"""
- name: Report about the last week
  kafkaops.recovery.exposure_report:
    recordings: /srv/kafka-recordings
    from: '2026-01-24T00:00:00Z'
    report_file: exposure.json
"""

RETURN = r"""
place: {type: str, returned: success, description: The directory or URI of the recordings.}
scope: {type: str, returned: success, description: The scope of the recordings.}
clusters:
  description: What the recordings of each cluster show. Lists of partitions have at most 1,000 entries.
  returned: success
  type: list
  elements: dict
  contains:
    cluster_id: {type: str, description: The cluster's id.}
    coverage:
      description: When the cluster was looked at.
      type: dict
      contains:
        start: {type: str, description: Begin of the period.}
        end: {type: str, description: End of the period.}
        snapshots: {type: int, description: "Snapshots of the period, and the one that tells what was so at its start."}
        first: {type: str, description: The time of the first of them. Null for none.}
        last: {type: str, description: The time of the last of them. Null for none.}
        usual_seconds: {type: int, description: The median interval between snapshots. Null for fewer than two.}
        gap_seconds: {type: int, description: A longer interval is a gap.}
        observed_seconds: {type: int, description: The time without the gaps.}
        gaps:
          description: Times without snapshots.
          type: list
          elements: dict
          contains:
            start: {type: str, description: The last snapshot before it.}
            end: {type: str, description: The first snapshot after it.}
            seconds: {type: int, description: How long.}
    partitions: {type: int, description: How many partitions were recorded.}
    unknown_partitions: {type: int, description: Those whose state or min ISR was unknown for some time.}
    low_partitions: {type: int, description: How many were without a leader or at or below min ISR.}
    below_partitions: {type: int, description: How many of them a snapshot saw below min ISR.}
    offline_partitions: {type: int, description: How many of them a snapshot saw without a leader.}
    low:
      description: These partitions, worst first.
      type: list
      elements: dict
      contains:
        topic: {type: str, description: The topic.}
        partition: {type: int, description: The partition.}
        offline_seconds: {type: int, description: Without a leader.}
        below_seconds: {type: int, description: Below min ISR.}
        at_seconds: {type: int, description: At min ISR.}
        unknown_seconds: {type: int, description: In a state that is not known.}
        longest_seconds: {type: int, description: The longest stretch of the first three together.}
        longest_at: {type: str, description: When a snapshot saw the begin of that.}
        snapshots: {type: int, description: How many snapshots saw it like that.}
        state: {type: str, description: At the end of the period., choices: [offline, below, at, above, unknown, gone]}
        min_isr: {type: int, description: Its min ISR at the end. Null if unknown.}
        replicas: {type: int, description: How many replicas it has at the end.}
    brokers:
      description: What each broker did, and what its death would have cost.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The broker.}
        rack: {type: str, description: Its rack. Null for none.}
        state: {type: str, description: In the newest snapshot.}
        departures: {type: int, description: How often it left between two snapshots.}
        returns: {type: int, description: How often it came back.}
        away_seconds: {type: int, description: How long it was away.}
        longest_away_seconds: {type: int, description: The longest absence.}
        longest_away_at: {type: str, description: When a snapshot saw the begin of that. Null for none.}
        lag_seconds: {type: int, description: "How long it answered and was not in sync, summed over its partitions."}
        most_lagging: {type: int, description: "In how many partitions at the same time, at most."}
        most_lagging_at: {type: str, description: When that was. Null for never.}
        death_records: {type: int, description: "Records that only it held, at the worst moment."}
        death_partitions: {type: int, description: Of how many partitions.}
        death_only_answer_records:
          description: Those of them that are in partitions of which no other replica answered.
          type: int
        death_at: {type: str, description: The worst moment. Null if there was none.}
    racks: {type: list, elements: str, description: The racks of the brokers.}
    one_rack_partitions: {type: int, description: How many partitions have all of several replicas in one rack.}
    one_rack:
      description: These partitions.
      type: list
      elements: dict
      contains:
        topic: {type: str, description: The topic.}
        partition: {type: int, description: The partition.}
        rack: {type: str, description: The rack.}
        brokers: {type: list, elements: int, description: The brokers of its replicas.}
    unknown_rack_partitions: {type: int, description: Partitions of which a broker has no known rack.}
    disks:
      description: The space of each log directory.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The broker.}
        log_dir: {type: str, description: The log directory.}
        total_bytes: {type: int, description: "The size of the volume. Null if the newest snapshot does not have it."}
        usable_bytes: {type: int, description: "Its free space. Null if the newest snapshot does not have it."}
        growth_bytes_per_day: {type: int, description: How fast the free space shrank in the period. Null if unknown.}
        growth_bytes_per_day_lately: {type: int, description: The same of the last 24 hours.}
        full_in_hours: {type: int, description: "When it is full at that rate. Null if it does not grow, or unknown."}
        full_in_hours_lately: {type: int, description: The same at the rate of the last 24 hours.}
    cleaners:
      description: What the sizes of the copies of compacted partitions show of each broker's log cleaner. An inference.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The broker.}
        diagnosis:
          description: The case, see M(kafkaops.recovery.log_cleaner_info).
          type: str
          choices: [healthy, idle, dead_threads, uncleanable_partitions, unknown]
        reason: {type: str, description: Why.}
        suspects:
          description: The copies that seem not to be compacted.
          type: list
          elements: dict
          contains:
            topic: {type: str, description: The topic.}
            partition: {type: int, description: The partition.}
            size_bytes: {type: int, description: Its size in the newest snapshot.}
            reason: {type: str, description: Why it is suspicious.}
notes: {type: list, elements: str, returned: success, description: Which clusters have no recordings of this scope.}
methods: {type: list, elements: str, returned: success, description: How these numbers were made.}
"""

from dataclasses import replace
from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.options import EXPOSING, read_wanted
from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.report import EXPOSURE_REPORT, encode_exposure
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import DOCUMENTS, SPARK
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.options import read_spark

_MOST_PARTITIONS = 1000
ARGUMENTS = EXPOSING


def main() -> None:
    run(
        AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True),
        results,
        needs=(*DOCUMENTS, "pyarrow", *SPARK),
    )


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.exposure import expose, has_few_rows
    from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session

    params = module.params
    wanted, where, report = call_all(
        lambda: read_wanted(params),
        lambda: read_spark(params["spark"], memory="2g"),
        lambda: ReportFile(params["report_file"]),
    )
    place, progress = params["recordings"], progress_to(params["progress_file"])
    has_few = has_few_rows(place)
    with spark_session(where, runs_python=False, is_long=not has_few) as spark:
        exposure = expose(spark, place, params["scope"], wanted, progress, has_few=has_few)
    error = report.write_or_explain(partial(encode_exposure, exposure), EXPOSURE_REPORT)
    short = tuple(
        replace(
            each,
            low=each.low[:_MOST_PARTITIONS],
            one_rack=each.one_rack[:_MOST_PARTITIONS],
            cleaners=tuple(replace(one, suspects=one.suspects[:_MOST_PARTITIONS]) for one in each.cleaners),
        )
        for each in exposure.clusters
    )
    # A report is no change of the cluster.
    return {
        "changed": False,
        **to_json_types(replace(exposure, clusters=short)),
        **({"failed": True, "msg": error} if error else {}),
    }


if __name__ == "__main__":
    main()
