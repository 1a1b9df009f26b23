# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module recovery_plan, run in this process on real files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import format_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_consistency import renew_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import (
    check_plan,
    plan_document,
    read_plan,
)
from ansible_collections.kafkaops.recovery.plugins.modules import recovery_plan
from unit.documents.examples import CLUSTER_ID, a_plan, edited

PLAN = plan_document(renew_plan(check_plan(edited("partitions", 0, "designatedLeader", to=2)))[0])


@pytest.fixture
def edited_plan(tmp_path: Path) -> Path:
    """Return an edited plan with an unusual file mode."""
    path = tmp_path / "plan.json"
    path.write_bytes(format_document(edited("partitions", 0, "designatedLeader", to=2, renew=False)))
    path.chmod(0o640)
    return path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the module, and return its output."""
    remote_tmp = tmp_path / "tmp"
    remote_tmp.mkdir(mode=0o700)

    def run_module(path: Path, state: str, *, check: bool = False, diff: bool = False) -> dict[str, Any]:
        ansible = {"_ansible_check_mode": check, "_ansible_diff": diff, "_ansible_remote_tmp": str(remote_tmp)}
        with patch_module_args({"path": str(path), "state": state, **ansible}), pytest.raises(SystemExit):
            recovery_plan.main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    return run_module


def test_edited_plan_is_refused_with_the_way_out(run: Any, edited_plan: Path) -> None:
    result = run(edited_plan, "checked")
    assert result["failed"]
    assert "is refused at /digest: the plan was changed" in result["msg"]
    assert f"kafkaops.recovery.renew_plan_digest -e unclean_recovery_plan_file={edited_plan}" in result["msg"]
    assert "exception" not in result


def test_check_mode_says_what_would_be_done(run: Any, edited_plan: Path) -> None:
    before = edited_plan.read_bytes()
    result = run(edited_plan, "digest_renewed", check=True, diff=True)
    assert result["changed"]
    assert (result["diff"]["before"], result["diff"]["after"]) == (before.decode(), format_document(PLAN).decode())
    assert edited_plan.read_bytes() == before


def test_digest_is_renewed_once(run: Any, edited_plan: Path) -> None:
    result = run(edited_plan, "digest_renewed")
    assert result["changed"]
    assert "diff" not in result
    assert result["digest"] == PLAN["digest"]
    assert edited_plan.read_bytes() == format_document(PLAN)
    assert stat.S_IMODE(edited_plan.stat().st_mode) == 0o640
    written_at = edited_plan.stat().st_mtime_ns
    assert not run(edited_plan, "digest_renewed")["changed"]
    assert edited_plan.stat().st_mtime_ns == written_at


def test_right_plan_is_summed_up(run: Any, edited_plan: Path) -> None:
    edited_plan.write_bytes(format_document(PLAN))
    result = run(edited_plan, "checked")
    del result["invocation"]
    assert result == {
        "changed": False,
        "cluster_id": CLUSTER_ID,
        "created_at": "2026-01-31T23:59:59Z",
        "digest": PLAN["digest"],
        "elections": 2,
        "left_alone": 1,
    }


@pytest.mark.parametrize("claimed", ["", "sha256:ABC", None])
def test_any_digest_is_accepted_for_renewal(run: Any, edited_plan: Path, claimed: str | None) -> None:
    edited_plan.write_bytes(format_document({**PLAN, "digest": claimed}))
    assert run(edited_plan, "digest_renewed")["changed"]
    assert read_plan(str(edited_plan)).elections[0].designated_leader == 2


def test_digest_is_not_renewed_if_there_are_other_problems(run: Any, edited_plan: Path) -> None:
    edited_plan.write_bytes(format_document(edited("partitions", 0, "designatedLeader", to=9, renew=False)))
    before = edited_plan.read_bytes()
    result = run(edited_plan, "digest_renewed")
    assert result["failed"]
    assert "is refused at /partitions/0/designatedLeader: broker 9 is not among" in result["msg"]
    assert edited_plan.read_bytes() == before


def test_edited_plan_is_judged_like_a_new_one(run: Any, edited_plan: Path) -> None:
    run(edited_plan, "digest_renewed")
    edited_election, other = json.loads(edited_plan.read_text())["partitions"]
    assert edited_election["reason"].startswith(
        "broker 2, designated by the operator, rank 2; electing 2 loses offsets"
    )
    assert "broker 2 was not asked for open transactions after the edit" in edited_election["notes"][0]
    assert other == plan_document(a_plan())["partitions"][1], "nobody edited it"


def test_dropped_brokers_of_an_edited_election_are_kept_and_reported(run: Any, edited_plan: Path) -> None:
    document = json.loads(edited_plan.read_text())
    document["partitions"][0]["dropped"] = [1]
    edited_plan.write_bytes(format_document(document))
    assert run(edited_plan, "digest_renewed")["changed"]
    election = json.loads(edited_plan.read_text())["partitions"][0]
    assert election["dropped"] == [1]
    assert "broker 1 of its replicas is not registered" in election["notes"][0]


@pytest.mark.parametrize(
    ("place", "to", "problem"),
    [
        ("maxLostRecords", 29, "electing 2 loses 30 or more records, and the limit is 29"),
        ("strategy", "balanced", "balanced waits: any member of the last ISR brings all committed records back"),
        ("strategy", None, "it has no strategy, so that it cannot be decided again"),
        ("offlineReplicas", [1, 2], "broker 2 cannot be elected: the controller fences it"),
    ],
)
def test_edit_that_a_new_plan_would_refuse_is_refused(
    run: Any, edited_plan: Path, place: str, to: Any, problem: str
) -> None:
    document = json.loads(edited_plan.read_text())
    document["partitions"][0][place] = to
    edited_plan.write_bytes(format_document(document))
    before = edited_plan.read_bytes()
    result = run(edited_plan, "digest_renewed")
    assert result["failed"]
    assert "is refused at /partitions/0" in result["msg"]
    assert problem in result["msg"]
    assert edited_plan.read_bytes() == before


@pytest.mark.parametrize("mode", [0o622, 0o606, 0o666])
def test_plan_that_others_may_write_is_refused(run: Any, edited_plan: Path, mode: int) -> None:
    edited_plan.write_bytes(format_document(PLAN))
    edited_plan.chmod(mode)
    os.chown(edited_plan, os.geteuid(), os.getegid())
    result = run(edited_plan, "checked")
    if mode & 0o002:
        assert f"may be written by {'everybody'}" in result["msg"].replace("its group and ", "")
        assert f"chmod go-w {edited_plan}" in result["msg"]


def test_link_stays_a_link(run: Any, edited_plan: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(edited_plan)
    assert run(link, "digest_renewed")["changed"]
    assert link.is_symlink()
    assert edited_plan.read_bytes() == format_document(PLAN)


def test_path_without_a_regular_file_is_refused(run: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for state in ("checked", "digest_renewed"):
        assert "is a FIFO, not a file" in run(tmp_path / "fifo", state)["msg"]
