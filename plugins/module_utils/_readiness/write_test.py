# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write one record to each of our own topics and read it back, as a run does before its first change.

Brokers can refuse records for reasons that no request shows before: configs that a topic inherits, quotas, clocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal_reader import JournalOptions
from .._changes.own_topic import OwnTopic
from .._changes.topic_by_name import TopicByName
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.partition import Broker
from .._model.reasons import plural
from .._model.run import KafkaOpsError
from .check import Check, CheckName, failed, passed, warning

_RIGHTS = ("DESCRIBE", "READ", "WRITE")
_ASK = "Before a broker is stopped or drained, ask the playbook kafkaops.recovery.check_stop"
_TEST_KEY = b"readiness"
"""Its value is null, so that a compaction removes the record, and the memory ignores it."""


def try_own_topics(kafka: Kafka, journal: JournalOptions, memory_topic: str, *, check_mode: bool) -> tuple[Check, ...]:
    """Return the results for the journal's topic, and for the memory's topic if it exists.

    In check mode, nothing is written. Raises no error: what fails is the result of a check.
    """
    if check_mode:
        return (passed(CheckName.JOURNAL, "in check mode, no record was written to our own topics"),)
    try:
        cluster = kafka.describe_cluster()
        brokers = kafka.probe_brokers(cluster)
    except KafkaOpsError as error:
        return (failed(CheckName.JOURNAL, f"no record was written to our own topics: {error}", "Start the brokers"),)
    return (
        *_try_journal(ClusterJournal(kafka, cluster, journal, brokers)),
        *_try_memory(kafka, cluster, brokers, memory_topic),
    )


def _try_journal(journal: ClusterJournal) -> Iterator[Check]:
    subject = f"topic {journal.options.topic}"
    try:
        pending = journal.read()
        if pending.changes or pending.notes:
            found = "; ".join(pending.notes) or f"a dead run left {plural(len(pending.changes), 'change')} in it"
            yield warning(
                CheckName.JOURNAL,
                f"no record was written to it: {found}",
                "Wait for the run that uses it. If that run died, run its playbook again: this undoes its changes",
                subject,
            )
            return
        with journal.open() as opened:
            # To take the lock is to write a record and to read it back.
            opened.require_lock()
            meanwhile = (*opened.notes,)
    except KafkaOpsError as error:
        yield failed(
            CheckName.JOURNAL,
            f"a run could not write to it, so it would change nothing: {error}",
            "Make the topic usable, or name another one (kafka_journal_topic)",
            subject,
        )
        return
    for note in opened.notes:
        # What is known while the lock is held is about others, such as their tickets. The rest is about its release.
        remedy = _ASK if note in meanwhile else "Grant DELETE on it, or delete it"
        yield warning(CheckName.JOURNAL, note, remedy, subject)
    yield passed(CheckName.JOURNAL, "a record was written to it and read back. Then it was deleted", subject)


def _try_memory(kafka: Kafka, cluster: Cluster, brokers: tuple[Broker, ...], name: str) -> Iterator[Check]:
    subject = f"topic {name}"
    try:
        by_name = TopicByName(kafka, cluster.living(brokers), cluster.addresses, name, _RIGHTS)
        topic = OwnTopic.find(by_name)
        if topic is None:
            yield passed(CheckName.JOURNAL, "it does not exist: the first drain creates it", subject)
            return
        topic.read(0)  # before our record: a topic that has lost all of its own must not seem to have some
        ((offset, _records),) = topic.append([(_TEST_KEY, None)])
        is_there = any(key == _TEST_KEY for _offset, (key, _value) in topic.read(offset).records)
    except KafkaOpsError as error:
        yield failed(
            CheckName.JOURNAL,
            f"a drain could not write to it: {error}",
            "Make the topic usable, or name another one (leadership_drain_memory_topic)",
            subject,
        )
        return
    if is_there:
        yield passed(CheckName.JOURNAL, "a record was written to it and read back", subject)
    else:
        yield failed(
            CheckName.JOURNAL,
            f"a record that was acknowledged at offset {offset} was not read back",
            "Find out who deletes its records: look at cleanup.policy and retention.ms of the topic",
            subject,
        )
