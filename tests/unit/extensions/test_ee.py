# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Java ansible-builder installs on which platform, by its own bindep. Which image ansible-navigator starts."""

from __future__ import annotations

import re

import pytest
import yaml
from bindep.depends import Depends

from publish.artifact import PROJECT


@pytest.mark.parametrize(
    ("platform", "package"),
    [
        (("dpkg", "debian", "debian-11"), "openjdk-17-jre-headless"),
        (("dpkg", "debian", "debian-12", "debian-bookworm"), "openjdk-17-jre-headless"),
        (("dpkg", "debian", "debian-13", "debian-trixie"), "openjdk-21-jre-headless"),
        (("dpkg", "ubuntu", "ubuntu-24", "ubuntu-24.04"), "openjdk-21-jre-headless"),
        (("rpm", "redhat", "centos", "centos-9"), "java-21-openjdk-headless"),
        (("rpm", "redhat", "rhel", "rhel-10"), "java-21-openjdk-headless"),
    ],
)
def test_one_java_per_platform(platform: tuple[str, ...], package: str) -> None:
    depends = Depends((PROJECT / "meta" / "ee-bindep.txt").read_text(encoding="utf-8"))
    rules = depends.active_rules([f"platform:{each}" for each in platform])
    assert [name for name, _profiles, _versions in rules] == [package]


def test_ansible_navigator_starts_the_image_that_is_built() -> None:
    directory = PROJECT / "extensions" / "ee"
    settings = yaml.safe_load((directory / "ansible-navigator.yml").read_text(encoding="utf-8"))["ansible-navigator"]
    built = re.findall(r"ansible-builder build .* -t ([\w-]+)", (directory / "README.md").read_text(encoding="utf-8"))
    assert built == [settings["execution-environment"]["image"]]
