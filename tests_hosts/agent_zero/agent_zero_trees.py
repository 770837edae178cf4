"""Agent Zero folders to install into: our stand-in in each layout, and copies of the real one where AGENT_ZERO names
some (several with the path separator between them)."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import agent_zero_standin as standin
from msgspec import Struct

from rightcall.hosts.install.agent_zero import layout_of

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src"
REAL = [Path(path) for path in os.environ.get("AGENT_ZERO", "").split(os.pathsep) if path]
KEPT = (
    "agent.py",
    "models.py",
    "initialize.py",
    "helpers",
    "python",
    "extensions",
    "tools",
    "plugins",
    "agents",
    "usr",
)
TOOLS = ("code_execution_tool", "response", "memory_save", "call_subordinate", "skills_tool", "my_tool")
PROBE = """
from {helpers}.tool import Tool, Response
import probe
class Probe(Tool):
    async def before_execution(self, **kwargs):
        pass
    async def execute(self, **kwargs):
        probe.RAN.append([self.name, dict(self.args)])
        if self.args.get("text") == "fail":
            raise OSError("the tool broke")
        return Response(message="done", break_loop=False)
    async def after_execution(self, response, **kwargs):
        pass
"""


class Tree(Struct, frozen=True):
    """One Agent Zero to run: its folder, and how to start Python there."""

    root: Path
    layout: standin.Layout

    @property
    def helpers(self) -> str:
        return "helpers" if self.layout == "present" else "python.helpers"

    def send(self, *messages: Any, package: bool = True, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """What became of each message of the model; a dict is sent as its JSON."""
        texts = [message if isinstance(message, str) else json.dumps(message) for message in messages]
        # Without the package: an isolated interpreter that has only the standard library to import.
        words = [sys.executable, *(() if package else ("-S", "-E")), str(HERE / "drive.py"), self.helpers]
        path = {"PYTHONPATH": str(SOURCE)} if package else {}
        done = subprocess.run(
            words, cwd=self.root, input="".join(json.dumps(text) + "\n" for text in texts), capture_output=True,
            text=True, check=False, timeout=200,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **path, **(env or {})},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def files(self) -> dict[str, bytes]:
        """Everything in it, to compare."""
        return {str(p.relative_to(self.root)): p.read_bytes() for p in sorted(self.root.rglob("*")) if p.is_file()}


def tree_of(root: Path, which: str | Path) -> Tree:
    """A layout of the stand-in, or a copy of a real folder; with tools that note what they were called with."""
    if isinstance(which, Path):
        _copy(which, root)
    else:
        standin.build(root, which)  # type: ignore[arg-type]
    tree = Tree(root, layout_of(root))
    tools = root / ("python/tools" if tree.layout == "old" else "usr/tools")
    tools.mkdir(parents=True, exist_ok=True)
    for name in TOOLS:
        (tools / f"{name}.py").write_text(PROBE.format(helpers=tree.helpers), encoding="utf-8")
    return tree


def _copy(real: Path, root: Path) -> None:
    root.mkdir()
    for name in KEPT:
        if (real / name).is_dir():
            shutil.copytree(real / name, root / name, ignore=shutil.ignore_patterns("webui", "__pycache__", "*.pyc"))
        elif (real / name).is_file():
            shutil.copy(real / name, root / name)
    if sys.version_info < (3, 12):  # it is written for Python 3.12; only this statement is new
        for file in root.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if re.search(r"^type \w+ =", text, re.MULTILINE):
                file.write_text(re.sub(r"^type (\w+) =", r"\1 =", text, flags=re.MULTILINE), encoding="utf-8")
