# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jars from Maven Central, resolved once and kept in the user's cache directory.

Parallel callers wait for each other on a file lock. A directory in the cache is complete or absent, because it is
filled under another name and renamed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from lab import versions
from lab.cache import cache_dir, exclusive

_DOWNLOAD_TIMEOUT_S = 900


class JarError(RuntimeError):
    """Maven is missing, or could not resolve an artifact."""


def kafka(version: str = versions.DEFAULT) -> list[Path]:
    """Return the jars of a Kafka server and its logging, in class-path order."""
    return _kafka_jars(version, "kafka", ("kafka_" + versions.SCALA,))


def tools(version: str = versions.DEFAULT) -> list[Path]:
    """Return the jars of Kafka's own command-line classes (``org.apache.kafka.tools``), server included."""
    return _kafka_jars(version, "tools", ("kafka_" + versions.SCALA, "kafka-tools"))


def hadoop(version: str = versions.HADOOP) -> list[Path]:
    """Return the jars of HDFS: servers and shell."""
    client = f"org.apache.hadoop:hadoop-client-minicluster:{version}"
    return _resolve(f"hadoop-{version}", (client, versions.SLF4J_SIMPLE))


def of_pyspark() -> list[Path]:
    """Return the jars that PySpark ships: Spark, and Hadoop's client."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise JarError("PySpark is not installed.")
    return sorted((Path(found.origin).parent / "jars").glob("*.jar"))


def s3a() -> list[Path]:
    """Return the jars that Hadoop needs for ``s3a:`` beyond those that PySpark ships."""
    return [artifact(versions.HADOOP_AWS), *_resolve("s3a", versions.S3A_NEEDS)]


def s3_proxy() -> list[Path]:
    """Return the jars of S3Proxy, a server of the S3 protocol."""
    return _resolve("s3proxy", (versions.S3_PROXY,))


def artifact(coordinate: str) -> Path:
    """Return one jar by its coordinate ``group:artifact:version[:classifier]``, without its dependencies."""
    name = coordinate.split(":")[1]
    jars = _resolve(name, (coordinate,), transitive=False)
    if len(jars) != 1:
        raise JarError(f"Expected one jar for {coordinate}, Maven copied {[jar.name for jar in jars]}.")
    return jars[0]


def part(jar: Path, prefix: str) -> Path:
    """Return a jar of those classes of another whose paths begin with ``prefix``."""
    target = cache_dir() / f"{jar.stem}-{prefix.rpartition('/')[2]}.jar"
    with exclusive(target.stem):
        if not target.exists():
            with zipfile.ZipFile(jar) as whole, zipfile.ZipFile(target.with_suffix(".part"), "w") as chosen:
                for name in whole.namelist():
                    if name.startswith(prefix):
                        chosen.writestr(name, whole.read(name))
            target.with_suffix(".part").rename(target)
    return target


def _kafka_jars(version: str, name: str, artifacts: Sequence[str]) -> list[Path]:
    versions.check(version)
    coordinates = [f"org.apache.kafka:{artifact_id}:{version}" for artifact_id in artifacts]
    return _resolve(f"{name}-{version}", (*coordinates, versions.SLF4J_SIMPLE))


def _resolve(name: str, coordinates: Sequence[str], *, transitive: bool = True) -> list[Path]:
    pom = render_pom(coordinates)
    # The key depends on the pom, so that a changed pin is fetched again.
    key = f"{name}-{hashlib.sha256(f'{pom}{transitive}'.encode()).hexdigest()[:8]}"
    target = cache_dir() / "jars" / key
    if not target.is_dir():
        with exclusive(key):
            if not target.is_dir():
                _copy_dependencies(pom, target, transitive=transitive)
    return sorted(target.glob("*.jar"))


def _copy_dependencies(pom: str, target: Path, *, transitive: bool) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarError("The lab needs Maven: there is no mvn on the PATH.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetching-") as scratch:
        pom_path, jars = Path(scratch, "pom.xml"), Path(scratch, "jars")
        pom_path.write_text(pom, encoding="utf-8")
        command = [
            maven,
            "--batch-mode",
            "--no-transfer-progress",
            f"--file={pom_path}",
            "dependency:copy-dependencies",
            f"-DoutputDirectory={jars}",
            "-DincludeScope=runtime",
            f"-DexcludeTransitive={str(not transitive).lower()}",
        ]
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
        if result.returncode != 0:
            error = next((line for line in result.stdout.splitlines() if "ERROR" in line), result.stderr)
            raise JarError(f"Maven could not fetch the jars for {target.name}: {error}")
        jars.rename(target)


def render_pom(coordinates: Sequence[str]) -> str:
    """Return a pom.xml that depends on ``coordinates``."""
    return _POM.format(dependencies="".join(map(_render_dependency, coordinates)))


def _render_dependency(coordinate: str) -> str:
    group_id, artifact_id, version, *classifier = coordinate.split(":")
    tags = {"groupId": group_id, "artifactId": artifact_id, "version": version}
    if classifier:
        tags["classifier"] = classifier[0]
    return "<dependency>" + "".join(f"<{tag}>{text}</{tag}>" for tag, text in tags.items()) + "</dependency>"


_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafkaops</groupId><artifactId>lab</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
