# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The conditions before the first election is requested, and the report after the last one."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError, NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import NoQuorumError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.carry_out import (
    Terms,
    carry_out,
    with_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptions,
    ElectionReport,
    WrongClusterError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.module_result import Elected
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import LeftAlone, Plan, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import PolicyError
from unit.fakes.journals import CLUSTER_ID
from unit.fakes.wreck import BEHIND, BEST, Wreck, partitions

REPORT = ElectionReport((Outcome("orders", 0, Status.RECOVERED, "the newest epoch"),), ())
ELECTED = Elected(CLUSTER_ID, (), REPORT, ())
NOTHING_PLANNED = Plan(CLUSTER_ID, "", (), ())


def terms(wreck: Wreck, *, acknowledged: bool = False) -> Terms:
    return Terms(
        ElectionOptions(journal=JournalOptions(), attempts=3, verify_timeout_ms=1000, check_mode=False),
        NullProgress(),
        threading.Event(),
        include_internal=False,
        acknowledges_unclean_leader_election=acknowledged,
        reports_aftermath=False,
    )


def there_is_a_quorum() -> None:
    """Raise nothing."""


def there_is_no_quorum() -> None:
    raise NoQuorumError("no majority")


def test_without_a_quorum_nothing_is_written(wreck: Wreck) -> None:
    with pytest.raises(NoQuorumError):
        carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_no_quorum)
    assert wreck.cluster.writes == []
    carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_a_quorum)
    assert wreck.cluster.kinds() == ["reorder", "elect", "elect", "reorder"]


def test_without_a_quorum_no_order_of_an_earlier_run_is_restored_either(wreck: Wreck) -> None:
    elected = carry_out(wreck.cluster, NOTHING_PLANNED, terms(wreck), there_is_no_quorum)
    assert elected.report.outcomes == (), "with nothing planned and nothing left there is no reason to ask the quorum"
    wreck.leave_changed_orders()
    with pytest.raises(NoQuorumError):
        carry_out(wreck.cluster, NOTHING_PLANNED, terms(wreck), there_is_no_quorum)
    assert wreck.cluster.writes == []


def test_a_broker_of_a_partition_that_is_left_alone_is_named_if_the_cluster_does_not_list_it(wreck: Wreck) -> None:
    alone = LeftAlone("orders", 9, Status.REFUSED, "it waits for broker 77", replicas=(77, BEST))
    plan = replace(NOTHING_PLANNED, left_alone=(alone,))
    elected = carry_out(wreck.cluster, plan, terms(wreck), there_is_a_quorum)
    assert {each.broker_id: each.state for each in elected.brokers}[77] is BrokerState.FENCED


def test_no_election_while_the_controller_may_elect_unclean_because_of_the_topic(wreck: Wreck) -> None:
    wreck.cluster.topic_values["orders"] = "true"
    with pytest.raises(PolicyError, match=r"unclean\.leader\.election\.enable is true for orders"):
        carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_a_quorum)
    assert wreck.cluster.writes == []
    assert carry_out(wreck.cluster, wreck.plan(), terms(wreck, acknowledged=True), there_is_a_quorum).report.is_changed


def test_both_refusals_come_at_once(wreck: Wreck) -> None:
    wreck.cluster.topic_values["orders"] = "true"
    with pytest.raises(KafkaOpsError, match=r"(?s)is true for orders.*no majority"):
        carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_no_quorum)
    assert wreck.cluster.writes == []


def test_the_wrong_cluster_is_named_whatever_else_stands_against_the_plan(wreck: Wreck) -> None:
    wreck.cluster.topic_values["orders"] = "true"
    with pytest.raises(WrongClusterError, match=f"for cluster another, and this is cluster {CLUSTER_ID}"):
        carry_out(wreck.cluster, replace(wreck.plan(), cluster_id="another"), terms(wreck), there_is_no_quorum)


def test_no_election_while_the_controller_may_elect_unclean_because_of_one_broker(wreck: Wreck) -> None:
    wreck.cluster.broker_values[BEHIND] = "true"
    with pytest.raises(PolicyError, match="is true for orders"):
        carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_a_quorum)
    assert wreck.cluster.writes == []
    wreck.cluster.topic_values["orders"] = "false"
    assert carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_a_quorum).report.is_changed


def test_only_topics_with_offline_partitions_are_asked_for_their_config(wreck: Wreck) -> None:
    plan = wreck.plan()
    for each in partitions(3):
        wreck.cluster.change(each, leader_id=BEHIND)
    wreck.cluster.topic_values["orders"] = "true"
    elected = carry_out(wreck.cluster, plan, terms(wreck), there_is_a_quorum)
    assert {each.status for each in elected.report.outcomes} == {Status.ALREADY_ONLINE}
    assert wreck.cluster.configs_read == []


def test_no_write_is_sent_to_a_hung_broker(wreck: Wreck) -> None:
    """The broker may execute the request when it is thawed, after the order was restored."""
    wreck.cluster.broker_states[BEHIND] = BrokerState.HUNG
    carry_out(wreck.cluster, wreck.plan(), terms(wreck), there_is_a_quorum)
    assert {each.address.host for each in wreck.cluster.writes} == {f"broker-{BEST}.invalid"}


def test_the_report_is_written(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert with_report(ELECTED, ReportFile(str(path)), check_mode=False) == ELECTED
    assert path.exists()


def test_results_are_returned_if_the_report_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report_file = ReportFile(str(path))
    path.write_text("somebody else's", encoding="utf-8")
    done = with_report(ELECTED, report_file, check_mode=False)
    assert done.report == REPORT
    assert done.report_error.startswith(f"the report is not written: {path} is refused")
    assert done.failure_message(check_mode=False) == done.report_error
    assert path.read_text(encoding="utf-8") == "somebody else's"


def test_the_message_has_the_missing_report_and_unrecovered_partitions() -> None:
    assert ELECTED.failure_message(check_mode=False) is None
    failed = ElectionReport((Outcome("orders", 0, Status.FAILED, "no leader was seen"),), ())
    message = replace(ELECTED, report=failed, report_error="disk full").failure_message(check_mode=False)
    assert message == "1 of 1 partition was not recovered:\n  orders-0: failed: no leader was seen\ndisk full"


@pytest.mark.parametrize(("after_s", "status"), [(3, Status.REFUSED), (60, Status.UNKNOWN)])
def test_a_leader_that_does_not_answer_is_waited_for(wreck: Wreck, after_s: float, status: Status) -> None:
    """The plan was made while the partition was offline. Then a broker led it, and died."""
    plan = wreck.plan()
    (partition,) = partitions(1)
    wreck.cluster.change(partition, leader_id=BEST)
    wreck.cluster.broker_states[BEST] = BrokerState.UNREACHABLE
    wreck.cluster.will_fence(BEST, leader_id=-1, after_s=after_s)
    given = replace(terms(wreck), fencing_wait_ms=20_000)
    outcome, *_others = carry_out(wreck.cluster, plan, given, there_is_a_quorum).report.outcomes
    assert outcome.status is status, outcome.reason
    assert ("does not answer" in outcome.reason) is (status is Status.UNKNOWN)
