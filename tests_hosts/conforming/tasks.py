"""A server over stdio with the tasks of 2026-07-28, which the official SDK does not have: what the scenarios for tasks
of the official conformance suite ask for, by their names. How far a task is, its clock says when it is asked."""

import json
import sys
import time
from datetime import UTC, datetime
from itertools import count
from typing import Any

Message = dict[str, Any]
EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MISSING = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
KEPT = {"ttlMs": 0, "cacheScope": "private"}
ENDED = ("completed", "failed", "cancelled")
INSTANT, QUICK, SOON = 0.0, 0.2, 1.0
NAME_OF = {"name": {"type": "string"}}
TOOLS: dict[str, Message] = {
    "greet": NAME_OF,
    "slow_compute": {"seconds": {"type": "number"}, "label": {"type": "string"}},
    "failing_job": {},
    "protocol_error_job": {},
    "confirm_delete": {"filename": {"type": "string"}},
    "multi_input": {},
    "test_tool_with_task": {},
}
NEEDS_A_TASK = ("failing_job", "test_tool_with_task")


class Refused(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def asking(words: str, **properties: Any) -> Message:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": words, "requestedSchema": schema}}


def texts(words: str, *, is_error: bool = False) -> Message:
    return {"content": [{"type": "text", "text": words}], "isError": is_error, "resultType": "complete"}


class Task:
    """What comes of it after so many seconds, or once its questions are answered."""

    def __init__(self, id: str, outcome: Message, seconds: float, questions: Message | None = None) -> None:
        self.id = id
        self._outcome = outcome
        self._due = time.monotonic() + seconds
        self.questions = dict(questions or {})
        self.is_cancelled = False
        self._created = datetime.now(UTC).isoformat()

    @property
    def status(self) -> str:
        if self.is_cancelled:
            return "cancelled"
        if self.questions:
            return "input_required"
        if time.monotonic() < self._due:
            return "working"
        return "failed" if "error" in self._outcome else "completed"

    def told(self) -> Message:
        times = {"createdAt": self._created, "lastUpdatedAt": self._created, "ttlMs": 60_000, "pollIntervalMs": 100}
        return {"taskId": self.id, "status": self.status, **times}

    def detailed(self) -> Message:
        status = self.status
        more = {"inputRequests": self.questions} if status == "input_required" else {}
        return {**self.told(), **more, **(self._outcome if status in ("completed", "failed") else {})}


class Server:
    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._ids = count(1)

    def answer(self, method: str, params: Message) -> Message:
        can = params.get("_meta", {}).get(CAPABILITIES, {})
        has_tasks = EXTENSION in can.get("extensions", {})
        match method:
            case "server/discover":
                capabilities = {"tools": {}, "extensions": {EXTENSION: {}}}
                return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **KEPT}
            case "tools/list":
                return {"tools": [described(name, properties) for name, properties in TOOLS.items()], **KEPT}
            case "tools/call":
                return self._call(params, has_tasks=has_tasks)
            case "tasks/get" | "tasks/update" | "tasks/cancel":
                if not has_tasks:
                    raise Refused(-32021, "this needs a client with tasks", MISSING)
                return self._of_task(method, params)
        raise Refused(-32601, "Method not found", method)

    def _call(self, params: Message, *, has_tasks: bool) -> Message:
        name, arguments = params["name"], params.get("arguments", {})
        if name in NEEDS_A_TASK and not has_tasks:
            raise Refused(-32021, "this tool needs a client with tasks", MISSING)
        match name:
            case "greet":
                return texts(f"Hello, {arguments.get('name')}!")
            case "slow_compute":
                result = texts(f"computed {arguments['label']}")
                return self._begun({"result": result}, arguments["seconds"]) if has_tasks else result
            case "failing_job":
                return self._begun({"result": texts("it failed, as it should", is_error=True)}, SOON)
            case "protocol_error_job":
                return self._begun({"error": {"code": -32603, "message": "it broke, as it should"}}, QUICK)
            case "confirm_delete":
                question = asking(f"Delete {arguments['filename']}?", confirm={"type": "boolean"})
                return self._begun({"result": texts("deleted")}, INSTANT, {"confirm": question})
            case "multi_input":
                questions = {key: asking(f"Who is {key}?", **NAME_OF) for key in ("first", "second")}
                return self._begun({"result": texts("both are known")}, INSTANT, questions)
            case "test_tool_with_task":
                return self._asked_first(params.get("inputResponses", {}))
        raise Refused(-32602, f"Unknown tool: {name}")

    def _asked_first(self, answers: Message) -> Message:
        if "user_name" not in answers:
            question = asking("What is your name?", **NAME_OF)
            return {"resultType": "input_required", "inputRequests": {"user_name": question}}
        return self._begun({"result": texts(f"Hello, {answers['user_name']['content']['name']}")}, QUICK)

    def _begun(self, outcome: Message, seconds: float, questions: Message | None = None) -> Message:
        task = Task(f"task-{next(self._ids)}", outcome, seconds, questions)
        self._tasks[task.id] = task
        return {"resultType": "task", **task.told()}

    def _of_task(self, method: str, params: Message) -> Message:
        task = self._tasks.get(params["taskId"])
        if task is None:
            raise Refused(-32602, "Task not found")
        if method == "tasks/get":
            return task.detailed()
        if method == "tasks/cancel":
            task.is_cancelled = task.status not in ENDED
        for key in params.get("inputResponses", {}):
            task.questions.pop(key, None)
        return {}


def described(name: str, properties: Message) -> Message:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"The suite looks for {name}", "inputSchema": schema}


def main() -> None:
    server = Server()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        try:
            told = {"result": {"resultType": "complete", **server.answer(message["method"], message.get("params", {}))}}
        except Refused as refused:
            told = {"error": refused.error}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
