# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions, and the pom.xml made of them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from lab import jars, versions

NAMESPACE = {"m": "http://maven.apache.org/POM/4.0.0"}


def test_a_pom_names_its_dependencies() -> None:
    pom = jars.render_pom(["g:a:1", "g:b:2:all"])
    found = ET.fromstring(pom).findall("m:dependencies/m:dependency", NAMESPACE)
    assert [[tag.text for tag in dependency] for dependency in found] == [["g", "a", "1"], ["g", "b", "2", "all"]]


def test_the_default_version_is_a_known_one() -> None:
    assert versions.check(versions.DEFAULT) == versions.DEFAULT


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"3\.9\.2.*4\.4\.0"):
        versions.check("2.8.0")


def test_hdfs_has_the_version_that_pyspark_ships() -> None:
    shipped = [each.name for each in jars.of_pyspark()]
    assert [each for each in shipped if each.startswith("hadoop-client-api-")] == [
        f"hadoop-client-api-{versions.HADOOP}.jar"
    ]
