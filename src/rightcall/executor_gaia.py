"""The tools of design 004 (the pack `gaia`) on an executor's own: what they are called there, and what runs here.

    ai.read          code/read
    ai.write         file/save      shown, not run, on a system where no tool of ours writes
    ai.execute       itself         runs in the sandbox or not at all; shown, not run, where there is none
    embedding.query  itself         a host provides it

Lists of the policy may use either name: whoever may use `code/read` may call it `ai.read`, and the other way round; the
audit says `code/read`.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.json import encode
from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.errors import ToolFailure
from rightcall.execute.diff import file_diff
from rightcall.execute.functions import LocalTool
from rightcall.packs import load_pack

_SAME = {"ai.read": "code/read", "ai.write": "file/save"}
_NO_WRITING = "No tool of ours writes files on this system, so nothing was written. A host can provide `file/save`"
_NO_SANDBOX = "Commands run in a sandbox or not at all, and there is none here, so nothing was run"
_NO_HOST = "`embedding.query` is provided by a host, and none has: it registers a function under this name"


def with_gaia(tools: Mapping[str, LocalTool], root: str, shell: LocalTool | None = None) -> dict[str, LocalTool]:
    """The tools that ship with us, which also answer to the names of the pack; and what of the pack is not here, with
    a word on why. `shell` runs the commands of `ai.execute`."""

    def saving(arguments: Mapping[str, Any]) -> str:
        return f"{file_diff(arguments['path'], arguments['content'], root=root)}\n{_NO_WRITING}."

    def running(arguments: Mapping[str, Any]) -> str:
        return f"Would run: {encode(arguments['command']).decode()}\n{_NO_SANDBOX}."

    code, gaia = _tools_of("code"), _tools_of("gaia")
    absent = [
        replace(_absent(code["file/save"], _NO_WRITING), preview=saving),
        replace(_absent(gaia["ai.execute"], _NO_SANDBOX), preview=running),
        _absent(gaia["embedding.query"], _NO_HOST),
    ]
    whole = {**{one.name: one for one in absent}, **tools}
    if shell is not None:
        whole[shell.name] = shell
    return whole | {ours: also_named(whole[ours], theirs) for theirs, ours in _SAME.items() if ours in whole}


def _tools_of(pack: str) -> dict[str, PackTool]:
    return {one.name: one for one in load_pack(pack).tools}


def _absent(about: PackTool, why: str) -> LocalTool:
    def never(**_: Any) -> None:
        raise ToolFailure(why)

    return LocalTool(
        name=about.name,
        function=never,
        definition={"name": about.name, "description": about.description, "parameters": about.schema},
        effects=about.effects,
        paths=about.rules.paths,
        commands=about.rules.commands,
        example=about.rules.example,
        rooted=True,
        about=about,
        absent=why,
    )


def also_named(tool: LocalTool, name: str) -> LocalTool:
    """The tool, which answers to this name too."""
    about = tool.about
    if about is None:
        return tool
    return replace(tool, about=replace(about, rules=replace(about.rules, names=(*about.rules.names, name))))
