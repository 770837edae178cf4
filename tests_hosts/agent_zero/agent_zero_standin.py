"""A small Agent Zero, written from what is known of the real one: where it looks for extensions and tools, in which
order, what it hands to them, and where it stops. Enough for `drive.py`, in each of the three layouts."""

from pathlib import Path
from typing import Literal

Layout = Literal["present", "user", "old"]

EXTENSION = """
import importlib.util, inspect, os
from {helpers} import subagents
USER_EXTENSIONS_FOLDER = {user!r}

class Extension:
    def __init__(self, agent, **kwargs):
        self.agent, self.kwargs = agent, kwargs

def load(path, base):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [one for _, one in inspect.getmembers(module, inspect.isclass) if one is not base and issubclass(one, base)]
    return found[-1:]

async def call_extensions_async(point, agent=None, **kwargs):
    unique = {{}}
    for folder in subagents.get_paths(agent, {below!r}, point):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                for cls in load(os.path.join(folder, name), Extension):
                    unique.setdefault(name, cls)
    for _, cls in sorted(unique.items()):
        await cls(agent=agent).execute(**kwargs)
"""

SUBAGENTS = """
import os
ROOTS = {roots!r}
def get_paths(agent, *below):
    paths = [os.path.join(os.getcwd(), root, *below) for root in ROOTS]
    return [path for path in paths if os.path.exists(path)]
"""

TOOL = """
class Response:
    def __init__(self, message, break_loop):
        self.message, self.break_loop = message, break_loop

class Tool:
    def __init__(self, agent, name, method, args, message, loop_data):
        self.agent, self.name, self.method, self.args = agent, name, method, args
"""

SECRETS = """
SECRETS = {"KEY": "hunter2-hunter2"}
class Manager:
    def mask_values(self, text):
        return text.replace(SECRETS["KEY"], "§§secret(KEY)")
    def replace_placeholders(self, text):
        return text.replace("§§secret(KEY)", SECRETS["KEY"])
def get_secrets_manager(context):
    return Manager()
"""

UNMASK = """
from {helpers}.extension import Extension
from {helpers}.secrets import get_secrets_manager
class Unmask(Extension):
    async def execute(self, tool_args=None, **kwargs):
        for key, value in (tool_args or {{}}).items():
            if isinstance(value, str):
                tool_args[key] = get_secrets_manager(self.agent.context).replace_placeholders(value)
"""

AGENT = """
import ast, json, os
from {helpers} import extension, subagents
from {helpers}.tool import Tool

class LoopData:
    def __init__(self):
        self.current_tool, self.last_response, self.params_temporary = None, "", {{}}

class Agent:
    async def process_tools(self, msg):
        try:
            request = json.loads(msg[msg.find("{{") : msg.rfind("}}") + 1])
        except ValueError:
            request = ast.literal_eval(msg.strip() + "}}" * (msg.count("{{") - msg.count("}}")))
        await self.validate_tool_request(request)
        name = request.get("tool_name", request.get("tool", ""))
        arguments = request.get("tool_args", request.get("args", {{}}))
        name, _, method = name.partition(":")
        from {helpers}.mcp_handler import MCPConfig
        tool = MCPConfig.get_instance().get_tool(self, name)
        if not tool:
            files = subagents.get_paths(self, "tools", name + ".py")
            if not files:
                self.hist_add_warning("Tool not found: " + name)
                return
            tool = extension.load(files[0], Tool)[0](self, name, method or None, arguments, msg, self.loop_data)
        self.loop_data.current_tool = tool
        try:
            await extension.call_extensions_async(
                "tool_execute_before", self, tool_args=arguments or {{}}, tool_name=name)
            response = await tool.execute(**arguments)
            await extension.call_extensions_async("tool_execute_after", self, response=response, tool_name=name)
        finally:
            self.loop_data.current_tool = None
"""

NO_VALIDATION = """
    async def validate_tool_request(self, request):
        pass
"""

VALIDATION = """
    async def validate_tool_request(self, request):
        data = {"args": (self, request), "kwargs": {}, "result": self, "exception": None}
        await extension.call_extensions_async("_functions/agent/Agent/validate_tool_request/start", self, data=data)
        if data["exception"]:
            raise data["exception"]
        if data["result"] is not self:
            return
        if not isinstance(request.get("tool_name"), str) or not request["tool_name"]:
            raise ValueError("Tool request must have a tool_name (type string) field")
        if not isinstance(request.get("tool_args"), dict) or not request["tool_args"]:
            raise ValueError("Tool request must have a tool_args (type dictionary) field")
"""


def build(root: Path, layout: Layout) -> None:
    """Write the tree."""
    present = layout == "present"
    helpers = "helpers" if present else "python.helpers"
    own = root / helpers.replace(".", "/")
    extensions = root / ("extensions/python" if present else "python/extensions")
    below = "extensions/python" if present else "extensions"
    roots = {"present": ["usr", ""], "user": ["usr", "python"], "old": ["python"]}[layout]
    user = "" if layout == "old" else "usr/extensions"
    files = {
        own / "__init__.py": "",
        own / "extension.py": EXTENSION.format(helpers=helpers, user=user, below=below),
        own / "subagents.py": SUBAGENTS.format(roots=roots),
        own / "errors.py": "class RepairableException(Exception):\n    pass\n",
        own / "tool.py": TOOL,
        own / "secrets.py": SECRETS,
        extensions / "tool_execute_before" / "_10_unmask_secrets.py": UNMASK.format(helpers=helpers),
        root / "agent.py": AGENT.format(helpers=helpers) + (VALIDATION if present else NO_VALIDATION),
    }
    if layout != "old":
        files[root / "usr" / ".gitkeep"] = ""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
