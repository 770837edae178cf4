"""Runs inside an Agent Zero folder, in a process of its own: hands messages of a model to `Agent.process_tools` and
prints what came of each, as JSON lines. With the real Agent Zero everything that decides is real (agent.py, the
loader, its extensions, the tools' base class); the packages it imports are stood in for by empty ones.
"""

import asyncio
import importlib.abc
import importlib.machinery
import json
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path.cwd()


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules for all packages that Agent Zero imports: some hundred megabytes, to talk to models."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> Any:
        top = fullname.partition(".")[0]
        if isinstance(sys.modules.get(top), Empty):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        own = top in sys.stdlib_module_names or (ROOT / top).exists() or (ROOT / f"{top}.py").exists()
        if own or top == "rightcall" or not asked_by_agent_zero():
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


def asked_by_agent_zero() -> bool:
    """RightCall and what it needs import the real ones."""
    frame: Any = sys._getframe(1)
    while frame is not None and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(str(ROOT))


class Empty(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Anything(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__


class Nothing(metaclass=Anything):
    """Whatever was imported from there: a class, a function, a decorator, a type."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None: ...

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Log:
    def __init__(self) -> None:
        self.lines: list[list[str]] = []

    def log(self, type: str = "", content: str = "", **_: Any) -> Any:
        self.lines.append([type, content])
        return types.SimpleNamespace(id="1", update=lambda **_: None)


def agent_of(agent_module: Any) -> Any:
    """An agent without its models: what `process_tools` uses of it."""

    class Talking(agent_module.Agent):
        def __init__(self) -> None:
            self.config = types.SimpleNamespace(profile="", additional={})
            self.context = types.SimpleNamespace(
                id="chat-1", log=Log(), data={}, task=None, get_data=lambda *_, **__: None
            )
            self.agent_name, self.number, self.data, self.intervention = "A0", 0, {}, None
            self.loop_data = agent_module.LoopData()
            self.warnings: list[str] = []

        async def handle_intervention(self, progress: str = "") -> None: ...

        def hist_add_warning(self, message: Any, **_: Any) -> Any:
            self.warnings.append(message)
            return types.SimpleNamespace(id="1")

        def read_prompt(self, name: str, **_: Any) -> str:
            return name

    return Talking()


class McpTool:
    """The one tool of the one MCP server, `files`."""

    name, method = "files.read_file", None

    async def before_execution(self, **_: Any) -> None: ...

    async def execute(self, **arguments: Any) -> Any:
        sys.modules["probe"].RAN.append([self.name, arguments])
        return types.SimpleNamespace(message="done", break_loop=False)

    async def after_execution(self, response: Any) -> None: ...


class MCPConfig:
    """Agent Zero's servers: the real one needs the SDK and starts them."""

    schema: ClassVar = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    @classmethod
    def get_instance(cls) -> "MCPConfig":
        return cls()

    def get_tools(self) -> list[dict[str, Any]]:
        about = {"name": "read_file", "description": "", "input_schema": self.schema, "server": "files"}
        return [{McpTool.name: about}]

    def get_tool(self, _agent: Any, name: str) -> McpTool | None:
        return McpTool() if name == McpTool.name else None


async def turn(agent_module: Any, agent: Any, message: str) -> dict[str, Any]:
    ran: list[Any] = []
    vars(sys.modules["probe"])["RAN"] = ran
    agent.context.log.lines, agent.warnings, failure = [], [], None
    agent.loop_data = agent_module.LoopData()
    agent.loop_data.last_response = message
    try:
        await agent.process_tools(message)
    except Exception as error:  # noqa: BLE001  what Agent Zero would have to handle is part of the answer
        failure = [type(error).__name__, str(error)]
    return {
        "ran": ran,
        "log": agent.context.log.lines,
        "warnings": agent.warnings,
        "failed": failure,
    }


async def answer_all(out: Any) -> None:
    agent_module = importlib.import_module("agent")
    agent = agent_of(agent_module)
    for line in sys.stdin:
        print(json.dumps(await turn(agent_module, agent, json.loads(line))), file=out, flush=True)


def main() -> None:
    sys.path.insert(0, str(ROOT))
    sys.meta_path.insert(0, Missing())
    for name, contents in (("probe", {"RAN": []}), (f"{sys.argv[1]}.mcp_handler", {"MCPConfig": MCPConfig})):
        module = types.ModuleType(name)
        vars(module).update(contents)
        sys.modules[name] = module
    out, sys.stdout = sys.stdout, sys.stderr  # Agent Zero prints what it does
    asyncio.run(answer_all(out))


if __name__ == "__main__":
    main()
