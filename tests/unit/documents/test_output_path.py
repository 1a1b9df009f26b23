# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a file is to be written: it must be new, in a directory that exists and that may be written to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import (
    refuse_existing,
    state_directory,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import write_plan
from unit.documents.examples import a_plan
from unit.documents.test_refused_files import WHOLE, assert_refused


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("mine")
    assert_refused(refuse_existing, path, {WHOLE: "exists already, and is never overwritten"})
    assert_refused(lambda name: write_plan(a_plan(), name), path, {WHOLE: "exists already"})
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["plan.json"]


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.symlink_to(tmp_path / "elsewhere")
    assert_refused(refuse_existing, path, {WHOLE: "exists already"})
    assert_refused(lambda name: write_plan(a_plan(), name), path, {WHOLE: "exists already"})
    assert not (tmp_path / "elsewhere").exists()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "plan.json"
    assert_refused(refuse_existing, path, {WHOLE: f"there is no directory {path.parent}"})
    assert_refused(lambda name: write_plan(a_plan(), name), path, {WHOLE: "cannot be written: No such file"})


def test_the_directory_for_reports_of_roles_is_created(tmp_path: Path) -> None:
    path = tmp_path / "state" / "kafkaops-recovery" / "reports" / "recovery.json"
    refuse_existing(str(path))
    assert path.parent.stat().st_mode & 0o777 == 0o700


class TestStateDirectory:
    def test_it_is_where_the_user_wants_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "not" / "there"))
        assert state_directory() == str(tmp_path / "not" / "there" / "kafkaops-recovery")
        assert not (tmp_path / "not").exists()

    def test_it_is_below_the_home_directory(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert state_directory() == str(tmp_path / ".local" / "state" / "kafkaops-recovery")

    @pytest.mark.parametrize("home", ["/", "/dev/null", "/usr/none", "~", "relative"])
    def test_without_a_home_directory_it_is_temporary(
        self, home: str, monkeypatch: pytest.MonkeyPatch, as_nobody: None
    ) -> None:
        monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        monkeypatch.setenv("HOME", home)
        one, other = state_directory(), state_directory()
        assert one != other
        assert Path(one).is_relative_to(tempfile.gettempdir())
        refuse_existing(f"{one}/reports/recovery.json")
        Path(one, "reports").rmdir()
        Path(one).rmdir()
        Path(one).parent.rmdir()


def test_a_directory_of_someone_else_is_named(as_nobody: None) -> None:
    assert_refused(refuse_existing, Path("/usr/plan.json"), {WHOLE: "may not write to /usr"})


def test_a_new_file_is_accepted(tmp_path: Path) -> None:
    refuse_existing(str(tmp_path / "plan.json"))
