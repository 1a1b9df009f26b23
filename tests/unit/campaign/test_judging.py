# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The campaign's oracle counts what it is for: a campaign that finds nothing must have been able to find it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from campaign.clients.real import Clients
from campaign.clients.watch import Watch
from campaign.incident import Incident
from campaign.scene import Scene
from campaign.trial import End, Run, Trial
from campaign.verdict import COUNTED, Verdict
from integration.on_call import OnCall
from integration.strategies.logs_on_disk import Record
from lab import Cluster

_DEAD, _OTHER, _BEST = 1, 2, 3
_COMMON = frozenset(Record(0, offset, f"common-{offset}") for offset in range(5))
_LONGER = frozenset(Record(0, offset, f"longer-{offset}") for offset in range(5, 8))
_LOST = frozenset({Record(0, 8, "lost-0")})


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    logs = {_DEAD: _COMMON | _LONGER | _LOST, _OTHER: _COMMON, _BEST: _COMMON | _LONGER}
    cluster = cast(Cluster, None)
    incident = Incident(cluster, _DEAD, _BEST, _OTHER, (_DEAD, _OTHER, _BEST), {0: logs})
    on_call = OnCall(cluster, tmp_path)
    watch = Watch(Clients(cluster, ()), incident)
    return Trial(Scene(incident), on_call, Verdict("unit test", 0), watch, has_competitor=False)


def outcome(leader: int, at_least: int, at_most: int | None) -> dict[str, Any]:
    loss = {"broker_id": leader, "at_least": at_least, "at_most": at_most}
    return {"partition": 0, "leader_after": leader, "reason": "", "losses": [loss]}


def counted(verdict: Verdict) -> dict[str, int]:
    return {each: getattr(verdict, each) for each in COUNTED if getattr(verdict, each)}


def test_the_best_replica_and_a_true_forecast_are_clean(trial: Trial) -> None:
    trial.judge_election(outcome(_BEST, 0, None))
    assert trial.verdict.is_clean
    assert (trial.verdict.elections, trial.verdict.unknown_forecasts) == (1, 1)


def test_a_worse_replica_is_a_wrong_election_and_loses_records(trial: Trial) -> None:
    trial.judge_election(outcome(_OTHER, 3, None))
    assert counted(trial.verdict) == {"wrong_elections": 1, "records_lost": len(_LONGER)}


def test_a_worse_replica_is_excused_where_the_best_one_could_not_answer(trial: Trial) -> None:
    trial.scene.silenced.add(_BEST)
    trial.judge_election(outcome(_OTHER, 0, None))
    assert trial.verdict.is_clean


@pytest.mark.parametrize(("at_least", "at_most"), [(2, None), (0, 0)])
def test_a_loss_outside_the_forecast_is_counted(trial: Trial, at_least: int, at_most: int | None) -> None:
    """One record is lost: the dead leader alone has it."""
    trial.judge_election(outcome(_BEST, at_least, at_most))
    assert counted(trial.verdict) == {"outside_forecast": 1}


def test_a_record_that_nobody_can_read_any_more_is_lost(trial: Trial) -> None:
    trial.judge_records(0, {_BEST}, [each.value for each in _COMMON])
    assert counted(trial.verdict) == {"records_lost": len(_LONGER)}


def test_an_election_that_no_run_reported_has_to_be_of_the_best_replica(trial: Trial) -> None:
    """The other one leads by now: it followed the elected one, or was elected in its place."""
    assert trial.may_have_led(0, _OTHER) == {_BEST}
    trial.scene.silenced.add(_BEST)
    assert trial.may_have_led(0, _OTHER) == {_BEST, _OTHER}
    trial.elected[0] = _OTHER
    assert trial.may_have_led(0, _BEST) == {_OTHER}


@pytest.mark.parametrize(("by_the_fault", "tracebacks"), [(True, 0), (False, 1)])
def test_a_run_that_a_signal_ended_is_excused_only_where_the_fault_sent_it(
    trial: Trial, *, by_the_fault: bool, tracebacks: int
) -> None:
    process = SimpleNamespace(pid=7)
    trial.scene.killed.update({process.pid} if by_the_fault else ())
    run = SimpleNamespace(process=process, wait=lambda _limit_s: End.KILLED, results=lambda: None, errors="")
    trial.judge_run(cast(Run, run))
    assert trial.verdict.tracebacks == tracebacks
