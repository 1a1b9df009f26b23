# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fake of AWX's API that stores objects as awx.awx expects. It runs no job and checks no value."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_TYPES = {
    "credential_types": "credential_type",
    "execution_environments": "execution_environment",
    "inventories": "inventory",
    "job_templates": "job_template",
    "notification_templates": "notification_template",
    "projects": "project",
    "schedules": "schedule",
    "workflow_job_template_nodes": "workflow_job_template_node",
    "workflow_job_templates": "workflow_job_template",
}
_LAUNCHABLE = ("job_templates", "projects", "workflow_job_templates")
_APPROVALS = "workflow_approval_templates"
_APPROVAL_FIELDS = ("name", "description", "timeout")


class AwxStandIn:
    """The content of the fake: objects by endpoint and id, associations and surveys by path, and all writes."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[int, dict[str, Any]]] = {}
        self.associations: dict[str, list[int]] = {}
        self.surveys: dict[str, Any] = {}
        self.writes: list[tuple[str, str]] = []
        self._next_id = 1
        self.add("organizations", {"name": "Default"})

    def add(self, endpoint: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Store an object as a POST does, and return it as the API shows it."""
        number = self._next_id
        self._next_id += 1
        url = f"/api/v2/{endpoint}/{number}/"
        made = {
            **fields,
            "id": number,
            "url": url,
            "type": _TYPES.get(endpoint, endpoint.removesuffix("s")),
            "related": {"survey_spec": f"{url}survey_spec/"},
        }
        self.objects.setdefault(endpoint, {})[number] = made
        return made

    def named(self, endpoint: str) -> dict[str, dict[str, Any]]:
        """Return an endpoint's objects by name, or a workflow's nodes by identifier."""
        return {str(each.get("name", each.get("identifier"))): each for each in self.objects.get(endpoint, {}).values()}

    def get(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        parts = path.strip("/").split("/")[2:]
        if len(parts) == 1:
            return 200, _listed([each for each in self._of(parts[0]) if _matches(each, query)])
        if len(parts) == 2:
            return 200, self.objects[parts[0]][int(parts[1])]
        if parts[2] == "survey_spec":
            return 200, self.surveys.get(path, {})
        return 200, _listed([{"id": each} for each in self.associations.get(path, [])])

    def post(self, path: str, data: dict[str, Any]) -> tuple[int, Any]:
        parts = path.strip("/").split("/")[2:]
        if len(parts) == 1:
            return 201, self.add(parts[0], data)
        if parts[2] == "survey_spec":
            self.surveys[path] = data
            return 200, {}
        if parts[2] == "create_approval_template":
            approval = self.add(_APPROVALS, {each: data[each] for each in _APPROVAL_FIELDS if each in data})
            node = self.objects[parts[0]][int(parts[1])]
            node["related"]["unified_job_template"] = approval["url"]
            return 201, approval
        self.associations.setdefault(path, []).append(data["id"])
        return 204, None

    def patch(self, path: str, data: dict[str, Any]) -> tuple[int, Any]:
        endpoint, number = path.strip("/").split("/")[2:]
        changed = self.objects[endpoint][int(number)]
        allowed = _APPROVAL_FIELDS if endpoint == _APPROVALS else tuple(data)
        changed.update({name: value for name, value in data.items() if name in allowed})
        return 200, changed

    def _of(self, endpoint: str) -> list[dict[str, Any]]:
        endpoints = _LAUNCHABLE if endpoint == "unified_job_templates" else (endpoint,)
        return [each for name in endpoints for each in self.objects.get(name, {}).values()]


@contextmanager
def serving(awx: AwxStandIn, token: str) -> Iterator[str]:
    """Serve the fake on loopback to clients with the token; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Authorization") != f"Bearer {token}":
                self.send(401, {"detail": "wrong token"})
            elif self.command == "GET":
                self.send(*awx.get(url.path, dict(parse_qsl(url.query))))
            else:
                awx.writes.append((self.command, url.path))
                self.send(*(awx.post if self.command == "POST" else awx.patch)(url.path, json.loads(body)))

        # The names that BaseHTTPRequestHandler calls.
        do_GET = answer  # noqa: N815
        do_POST = answer  # noqa: N815
        do_PATCH = answer  # noqa: N815

        def send(self, status: int, content: Any) -> None:
            body = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _matches(candidate: dict[str, Any], query: dict[str, str]) -> bool:
    """Compare as Django does with a query string: by text."""
    return all(str(candidate.get(name)) == value for name, value in query.items() if name != "page_size")


def _listed(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"count": len(results), "next": None, "results": results}
