# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take the ticket of brokers that are to stop, and release it when they are back.

To take one:

1. Ask the gate. If the answer is no, write nothing.
2. Take the lock of the cluster. Only one run at a time has it, and all that write tickets need it.
3. Ask the gate again, because another pipeline may have been faster.
4. Write the ticket. Expired tickets, and the one that is renewed, are removed with it.
5. Check that the lock was not lost meanwhile. Only then the answer is yes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal, LockLostError
from .._changes.journal_reader import JournalOptions
from .._changes.record import JournalError
from .._changes.run_state import Holder, new_holder
from .._changes.run_topic import LockHeldError
from .._changes.stop_tickets import encode_ticket, parse_tickets, split_by_time, ticket_store
from .._kafka.port import Kafka
from .._model.partition import RUNNING_STATES, Broker, BrokerState
from .._model.reasons import name_partitions, plural
from .._model.run import looks
from .._model.stop_prediction import ClusterView, StopReasonKind
from .._model.stop_ticket import TICKET_TIME, StopTicket
from .gate import Answer, Asked, Gate, StopReason, reason, ticket_reason, worst_first
from .looking import check_stop, is_renewal, resolve, unread
from .question import Question

_LOCK_WAIT_S = 30.0
"""How long to wait for another run. A run that takes a ticket ends within seconds; a recovery does not."""
_BETWEEN_LOOKS_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketTerms:
    """Who takes or releases a ticket, and how."""

    owner: str
    """Empty if the user and the host name the owner. Then no ticket is renewed."""
    minutes: int
    """How long a ticket is valid."""
    wait_s: float
    """How long a release waits until the brokers are back."""
    journal: JournalOptions
    check_mode: bool


def take_ticket(kafka: Kafka, question: Question, terms: TicketTerms) -> Gate:
    """Answer whether the brokers may stop. If yes, and unless this is check mode, take the ticket first.

    The question has one set of brokers. Raises JournalError, NoBrokerAnswersError or CallError.
    """

    def ask() -> Gate:
        found = check_stop(kafka, question, terms.owner, leave_out=terms.journal.topic)
        return replace(found, asked=Asked.TAKE)

    gate = ask()
    if gate.verdict is Answer.NO:
        return gate
    cluster = kafka.describe_cluster()
    brokers = kafka.probe_brokers(cluster)
    ticket = _ticket(kafka, gate.stops[0].brokers, brokers, terms)
    if terms.check_mode:
        return replace(gate, taken=(ticket,))

    def take(journal: Journal) -> Gate:
        store = ticket_store(kafka, cluster.living(brokers)).open(journal)
        now = ask()
        if now.verdict is Answer.NO:
            return now
        renewed = [each for each in now.tickets if is_renewal(each, terms.owner, ticket.brokers)]
        if rivals := [each for each in renewed if each not in gate.tickets]:
            return _refuse_namesakes(now, rivals)
        present = parse_tickets(store.values)
        over = [each for each in present if each not in now.tickets or each in renewed]
        try:
            store.write({**{each.ticket_id: None for each in over}, ticket.ticket_id: encode_ticket(ticket)})
            journal.require_lock()
        except LockLostError:
            with suppress(JournalError):
                # Nobody else has this key, so this needs no lock.
                store.own.append([(ticket.ticket_id.encode(), None)])
            raise
        left = tuple(each for each in now.tickets if each not in over)
        notes = [f"this renews an earlier ticket: {each}" for each in renewed]
        return replace(now, tickets=(*left, ticket), taken=(ticket,), notes=(*now.notes, *notes))

    home = ClusterJournal(kafka, cluster, terms.journal, brokers)
    return _locked(kafka, home, take, gate, ticket.brokers, "Wait until it ends, and ask again")


def release_tickets(kafka: Kafka, question: Question, terms: TicketTerms) -> Gate:
    """Wait until the brokers are up and in every ISR, and then release the tickets that name one of them.

    A ticket of another owner is not released. Raises JournalError, NoBrokerAnswersError or CallError.
    """
    cluster = kafka.describe_cluster()
    brokers = kafka.probe_brokers(cluster)
    tickets = parse_tickets(ticket_store(kafka, cluster.living(brokers)).peek())
    found, unknown_racks = _tickets_of(question, tickets, brokers)
    owner = terms.owner or _default_owner(new_holder())
    ours = [each for each in found if each.owner == owner]
    reasons = [*unknown_racks, *(_of_another_owner(each) for each in found if each not in ours)]
    notes = [] if found else ["no ticket names these brokers: nothing is to be released"]
    missing, gone = list[StopReason](), list[str]()
    for _look in looks(kafka.clock, terms.wait_s if not reasons else 0) if ours else ():
        missing, gone = _not_back(kafka, ours, terms.journal.topic)
        if not missing:
            break
        kafka.clock.sleep(_BETWEEN_LOOKS_S)
    valid, _expired = split_by_time(kafka, tickets)
    gate = Gate(
        cluster_id=cluster.cluster_id,
        asked=Asked.RELEASE,
        verdict=Answer.NO if reasons or missing else Answer.YES,
        stops=(),
        reasons=worst_first([*reasons, *missing]),
        notes=(*notes, *gone, *kafka.notes_on_views()),
        waves=(),
        in_no_wave=(),
        tickets=valid,
    )
    if gate.verdict is Answer.NO or not ours:
        return gate
    done = replace(gate, tickets=tuple(each for each in valid if each not in ours), released=tuple(ours))
    if terms.check_mode:
        return done

    def release(journal: Journal) -> Gate:
        ticket_store(kafka, cluster.living(brokers)).open(journal).write({each.ticket_id: None for each in ours})
        return done

    home = ClusterJournal(kafka, cluster, terms.journal, brokers)
    return _locked(kafka, home, release, gate, sorted(_until(ours)), "Release the ticket when it has ended")


def _tickets_of(
    question: Question, tickets: Sequence[StopTicket], brokers: Sequence[Broker]
) -> tuple[list[StopTicket], list[StopReason]]:
    """Return the tickets that name one of these brokers or racks, and a reason for each rack that nobody knows."""
    of_racks = [each for each in tickets if {*question.racks} & {*each.racks}]
    # Before Kafka 4.0, a broker that is down is not listed, and neither is its rack. The ticket has both.
    of_nobody = tuple(each for each in question.racks if not any(each in one.racks for one in of_racks))
    _sets, unknown_racks = resolve(Question(racks=of_nobody), brokers)
    sets, _unknown = resolve(question, brokers)
    asked = {each for some in sets for each in some}
    return [each for each in tickets if each in of_racks or asked.intersection(each.brokers)], [*unknown_racks]


def _of_another_owner(ticket: StopTicket) -> StopReason:
    remedy = f'To release it, name its owner: stop_gate_owner="{ticket.owner}"'
    return replace(ticket_reason(ticket.brokers, ticket), remedy=remedy)


def _refuse(gate: Gate, reasons: tuple[StopReason, ...]) -> Gate:
    stops = tuple(replace(each, verdict=Answer.NO) for each in gate.stops)
    return replace(gate, verdict=Answer.NO, stops=stops, reasons=reasons)


def _refuse_namesakes(gate: Gate, rivals: Sequence[StopTicket]) -> Gate:
    """Return the refusal where somebody took the ticket with our owner's name since we asked: we do not renew that."""
    remedy = "Give each pipeline its own stop_gate_owner, for example with the number of its run"
    return _refuse(gate, tuple(replace(ticket_reason(each.brokers, each), remedy=remedy) for each in rivals))


def _ticket(kafka: Kafka, brokers: Sequence[int], known: Sequence[Broker], terms: TicketTerms) -> StopTicket:
    racks = {each.rack for each in known if each.broker_id in brokers and each.rack}
    now = kafka.cluster_time()
    if now is None:
        raise JournalError(
            "the active controller does not return its time, from which a ticket is valid: nothing was written. "
            "Run the playbook kafkaops.recovery.check_quorum, and ask again"
        )
    holder = new_holder()
    return StopTicket(
        ticket_id=holder.run,
        brokers=tuple(sorted(brokers)),
        racks=tuple(sorted(racks)),
        owner=terms.owner or _default_owner(holder),
        job=holder.job,
        since=now.strftime(TICKET_TIME),
        until=(now + timedelta(minutes=terms.minutes)).strftime(TICKET_TIME),
    )


def _default_owner(holder: Holder) -> str:
    """Return who owns a ticket if no owner is named."""
    return f"{holder.user} on {holder.host}"


def _locked(  # noqa: PLR0917
    kafka: Kafka,
    home: ClusterJournal,
    work: Callable[[Journal], Gate],
    gate: Gate,
    brokers: Sequence[int],
    remedy: str,
) -> Gate:
    """Do the work under the lock. If another run keeps the lock for too long, refuse what ``gate`` would allow."""
    holder = ""
    for _look in looks(kafka.clock, _LOCK_WAIT_S):
        try:
            with home.open() as journal:
                done = work(journal)
            named = (*done.tickets, *done.released)
            others = [each for each in journal.notes if not any(str(one) in each for one in named)]
            return replace(done, notes=(*done.notes, *others))
        except LockHeldError as error:
            holder = str(error.holder)
    text = f"another run writes to this cluster: {holder}"
    return _refuse(gate, (reason(StopReasonKind.ANOTHER_RUN, brokers, text, remedy),))


def _until(tickets: Sequence[StopTicket]) -> dict[int, str]:
    """Return until when each broker of these tickets is being stopped."""
    return {broker_id: each.until for each in sorted(tickets, key=lambda one: one.until) for broker_id in each.brokers}


def _not_back(kafka: Kafka, tickets: Sequence[StopTicket], lock_topic: str) -> tuple[list[StopReason], list[str]]:
    """Return why brokers are not back, and notes about those that never will be.

    They do not answer, are fenced, or are out of an ISR; or that is not known.
    """
    cluster = kafka.describe_cluster()
    until = _until(tickets)
    states = tuple(each for each in kafka.describe_partitions().partitions if each.topic != lock_topic)
    brokers = {each.broker_id: each for each in kafka.probe_brokers(cluster, frozenset(until))}
    found, gone = [], []
    for broker_id in sorted(until):
        broker = brokers[broker_id]
        if broker.state is not BrokerState.ONLINE:
            is_removed = cluster.lists_fenced and broker_id not in cluster.addresses
            if is_removed and not any(broker_id in each.replicas for each in states):
                gone.append(
                    f"broker {broker_id} is no longer part of the cluster, and no partition has a replica on it"
                )
                continue
            text = f"broker {broker_id} is {broker.state.words}: {broker.cause}"
            step = "Find out why it does not answer" if broker.state in RUNNING_STATES else "Start it"
            remedy = f"{step}. If it never comes back, the ticket ends a minute after {until[broker_id]}"
            found.append(reason(StopReasonKind.NOT_BACK, (broker_id,), text, remedy))
        lags = [each for each in states if broker_id in each.replicas and broker_id not in each.isr]
        if lags:
            text = f"broker {broker_id} is not in sync in {plural(len(lags), 'partition')}: {name_partitions(lags)}"
            remedy = "Wait until it has caught up, and release again"
            found.append(reason(StopReasonKind.NOT_BACK, (broker_id,), text, remedy, lags))
    if not found:
        view = ClusterView(states=states, brokers=tuple(brokers.values()), min_isr={}, unclean={})
        found = unread(kafka, cluster, view, sorted(until))
    return found, gone
