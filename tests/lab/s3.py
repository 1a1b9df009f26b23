# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An object store on loopback: S3Proxy, which speaks Amazon's S3 protocol, and keeps the objects in its memory."""

from __future__ import annotations

import urllib.request
from collections.abc import Sequence
from pathlib import Path

from lab import jars, process
from lab.hadoop import HadoopStore
from lab.ports import HeldPorts
from lab.server import Server
from lab.waiting import wait_until

_LOOPBACK = "127.0.0.1"
_BUCKET = "incidents"
_START_SECONDS = 60.0
_LOGBACK = """\
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
"""


class S3(Server, HadoopStore):
    """A context manager; everything ends with it. A killed store has lost its objects."""

    uri = f"s3a://{_BUCKET}"

    def jars(self) -> Sequence[Path]:
        return [*jars.of_pyspark(), *jars.s3a()]

    def __enter__(self) -> S3:
        self._ports = HeldPorts(_LOOPBACK)
        self._endpoint = f"http://{_LOOPBACK}:{self._ports.take()}"
        properties = {
            "fs.s3a.endpoint": self._endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "any",
            "fs.s3a.secret.key": "any",
            # By default, the client waits minutes for a store that is down.
            "fs.s3a.attempts.maximum": 1,
            "fs.s3a.retry.limit": 1,
        }
        self.configure("core-site.xml", properties)
        self.environment["SPARK_DIST_CLASSPATH"] = ":".join(map(str, jars.s3a()))
        (self._conf_dir / "logback.xml").write_text(_LOGBACK, encoding="utf-8")
        self._configuration = self.directory / "s3proxy.conf"
        settings = {
            "s3proxy.endpoint": self._endpoint,
            "s3proxy.authorization": "none",
            # S3Proxy does not support the SDK's newest checksums.
            "s3proxy.ignore-unknown-headers": "true",
            # Not a store of files: those do not delete a directory's marker before the files below it.
            "jclouds.provider": "transient",
            "jclouds.identity": "unused",
            "jclouds.credential": "unused",
        }
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        self._configuration.write_text("".join(lines), encoding="utf-8")
        with process.clean_up_on_error(self.__exit__):
            self.start()
        return self

    def start(self) -> None:
        """Start it; returns when it has the bucket."""
        # Logback reads its configuration from the class path. Without one, it logs everything.
        class_path = [self._conf_dir, *jars.s3_proxy()]
        command = process.java_command(class_path, "org.gaul.s3proxy.Main", "--properties", str(self._configuration))
        log = self.directory / "s3proxy.log"
        self._process = process.spawn(command, log)

        def is_ready() -> bool:
            process.check_running(self._process, "S3Proxy", log)
            try:
                bucket = urllib.request.Request(f"{self._endpoint}/{_BUCKET}", method="PUT")
                urllib.request.urlopen(bucket, timeout=5).close()
            except OSError:
                return False
            return True

        wait_until(is_ready, _START_SECONDS, what=f"S3Proxy answers; see {log}")
