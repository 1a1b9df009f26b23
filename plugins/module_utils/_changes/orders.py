# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set replica orders. All order changes of this collection use this module."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from .._kafka.errors import CallError
from .._kafka.reassignments import parse_unregistered_broker
from .._kafka.settings import Address
from .._model.partition import PartitionState, Reassignment, TopicPartition, in_batches
from .._model.run import looks
from .record import partition_subject
from .sender import NEW_TOPIC_S, Seen, Writer, until_seen


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """A replica order to set on a partition of the topic of this id."""

    topic_id: str
    order: tuple[int, ...]
    before: Collection[tuple[int, ...]]
    """The orders that the partition may show until the request is executed. Another party has set any other order."""
    dropped: tuple[int, ...] = ()
    """Brokers at the end of ``order`` that are unregistered, or that a reassignment removes. The request leaves them
    out. The order is set as soon as it is seen with all, some or none of them."""
    reassignment: Reassignment | None = None
    """The reassignment of another party that was running before, and that this order does not stop."""

    @property
    def requested(self) -> tuple[int, ...]:
        """The order that the request names."""
        return self.order[: len(self.order) - len(self.dropped)]

    @property
    def may_change_number(self) -> bool:
        """Whether the request may name more or fewer replicas than the partition has, or is to have."""
        return bool(self.dropped) or self.reassignment is not None

    def look_at(self, state: PartitionState) -> Seen:
        """Judge a state of the partition."""
        if state.topic_id != self.topic_id:
            return Seen(False, f"the topic was re-created (id {state.topic_id}), and its order stays", is_final=True)
        kept = len(self.requested)
        # The replicas that leave do so one by one.
        if state.replicas[:kept] == self.requested and {*state.replicas[kept:]} <= {*self.dropped}:
            return Seen(True)
        replicas = list(state.replicas)
        if state.replicas not in self.before:
            return Seen(False, f"another party has set its replicas to {replicas}", is_final=True)
        return Seen(False, f"its replicas are {replicas}")


def set_orders(
    writer: Writer, orders: Mapping[TopicPartition, OrderRequest], *, were_read: bool = False
) -> dict[TopicPartition, str]:
    """Set replica orders, wait until they are seen, and return why the others are not set, by partition.

    A partition whose order another party has set is left alone, and before another attempt also one that another party
    reassigns. Kafka's request names the topic and not its id. So the partitions are read right before it, unless
    ``were_read`` says that the caller has just done so, and a topic that was re-created meanwhile is left alone. If it
    is re-created after that, the request is undone as far as possible.

    The journal keeps the changes of requests with an unknown outcome until these cannot be executed any more
    (``doubt``).
    """
    failures: dict[TopicPartition, str] = {}
    dropping = {each for each, request in orders.items() if request.may_change_number}
    for group in (orders.keys() - dropping, dropping):
        for batch in in_batches(sorted(group)):
            failures |= _set_batch(writer, {each: orders[each] for each in batch}, were_read=were_read)
    return failures


def _set_batch(
    writer: Writer, orders: Mapping[TopicPartition, OrderRequest], *, were_read: bool
) -> dict[TopicPartition, str]:
    """Set the orders of one request. Either all of them omit unregistered brokers, or none does."""
    kafka = writer.kafka
    reorder = kafka.reorder_without if any(each.may_change_number for each in orders.values()) else kafka.reorder
    requested: set[TopicPartition] = set()
    recreated: set[TopicPartition] = set()

    def send(address: Address, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, str | None]:
        requested.update(partitions)
        return reorder(address, {each: orders[each].requested for each in partitions})

    def look(partitions: Sequence[TopicPartition], *, is_repeated: bool) -> dict[TopicPartition, Seen]:
        # The controller does not refuse an order of the earlier replicas: a repeated request would undo a reassignment.
        running = kafka.running_reassignments(partitions) if is_repeated else {}
        theirs = {
            each
            for each, how in running.items()
            if not how.is_expected(orders[each].reassignment, orders[each].dropped)
        }
        metadata = kafka.read_partition_states(partitions)
        found = {each.topic_partition: orders[each.topic_partition].look_at(each) for each in metadata.states.values()}
        recreated.update(each for each, state in metadata.states.items() if state.topic_id != orders[each].topic_id)
        for each in partitions:
            if each.topic in metadata.hidden:
                found[each] = Seen(False, metadata.why_hidden(each.topic), is_final=True)
            elif each not in found:
                found[each] = Seen(False, "the partition does not exist any more", is_final=True)
            elif each in theirs and not found[each].is_seen:
                found[each] = Seen(False, "another party is reassigning it", is_final=True)
        return found

    failures = {
        each: failure.reason
        for each, failure in until_seen(
            writer,
            [*orders],
            send,
            partial(look, is_repeated=False),
            look_again=partial(look, is_repeated=True),
            name=partition_subject,
            looks_first=not were_read,
            # No broker registers within the pause.
            is_final=lambda error: parse_unregistered_broker(error) is not None,
        ).items()
    }
    return failures | undo_on_new_topics(writer, {each: orders[each].requested for each in requested & recreated})


def undo_on_new_topics(writer: Writer, replicas: Mapping[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, str]:
    """Undo what a request did to topics that were re-created right before it, and return what was found.

    ``replicas`` were requested for the deleted topics.

    A request for other replicas than those of the new topic begins a reassignment, which is canceled. The order of the
    same replicas is set at once, and nothing returns the earlier one: so it is named.
    """
    found = dict.fromkeys(replicas, "the topic was re-created, and cannot be read: compare its replica order")
    waiting = [*replicas]
    for _look in looks(writer.kafka.clock, NEW_TOPIC_S) if waiting else ():
        with suppress(CallError):
            running = writer.kafka.running_reassignments(waiting)
            states = writer.kafka.read_partition_states(waiting).states
            for partition, state in states.items():
                requested, how = replicas[partition], running.get(partition)
                is_ours = how is not None and {*state.replicas} - {*how.removing} == {*requested}
                explain = partial(cancel_on_new_topic, writer) if is_ours else explain_new_topic
                found[partition] = explain(state, requested)
                if is_ours or state.replicas == requested:
                    waiting.remove(partition)
        if not waiting:
            break
    return found


def explain_new_topic(state: PartitionState, requested: Sequence[int]) -> str:
    """Return what a request for the replicas of a deleted topic did to its successor."""
    created = f"the topic was re-created (id {state.topic_id})"
    if state.replicas != tuple(requested):
        return f"{created}: its replicas are {list(state.replicas)}, and stay"
    return (
        f"{created} when the replicas {list(requested)} of the deleted topic were requested. It has them now, by this "
        f"request or since its creation. If its first order was another one, broker {state.leader_id}, which leads it, "
        "was probably the first in it: set an order with kafka-reassign-partitions.sh"
    )


def cancel_on_new_topic(writer: Writer, state: PartitionState, requested: Sequence[int]) -> str:
    """Cancel the reassignment that a request for a deleted topic began on its successor. Return what was done."""
    began = (
        f"the topic was re-created (id {state.topic_id}) when the replicas {list(requested)} of the deleted topic were "
        "requested, which began a reassignment"
    )
    if problem := cancel_once(writer, state.topic_partition):
        return f"{began}, and it could not be canceled: {problem}"
    # Tried on 4.3.1: [1, 2] on which [3, 2] was requested and canceled is [2, 1].
    return f"{began}: it was canceled, which keeps its replicas, perhaps in another order than its first"


def cancel_once(writer: Writer, partition: TopicPartition) -> str:
    """Cancel the reassignment of a partition, and return why that failed; empty if it did not.

    It is requested once: what a second request cancels may be another reassignment.
    """
    if forbidden := writer.why_forbidden():
        return forbidden
    try:
        return writer.send(0, lambda to: writer.kafka.cancel(to, partition)) or ""
    except CallError as error:
        writer.note_doubt_after(error, [partition_subject(partition)])
        return str(error)
