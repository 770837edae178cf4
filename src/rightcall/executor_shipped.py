"""The tools that an executor has without being given any: the code tools on its root, the small ones beside them, those
of the web, and those that run code and write."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from rightcall.config import Policy
from rightcall.execute.functions import LocalTool
from rightcall.executor_hands import Hands
from rightcall.executor_opening import Premises
from rightcall.fs.rules import path_rules
from rightcall.fs.sight import Sight
from rightcall.packs import Pack
from rightcall.record.tables import Store

GAIA, EDIT_FILES = "gaia", "edit-files"
_EDIT = "code/edit"


def shipped_tools(
    premises: Premises, policy: Policy, store: Callable[[], Store], packs: Iterable[str | Pack], hands: Hands
) -> dict[str, LocalTool]:
    """By name; `packs` are those in force, of which one has names of its own for some of them. All but the small ones
    need a system on which files can be opened beneath a folder, which Windows is not."""
    from rightcall.executor_small import small_tools  # late, both: executors that are told to do without need neither
    from rightcall.web.tools import web_tools

    root, desk = premises.root, premises.desk
    tools = small_tools(store, root, desk, policy.settings)
    tools += web_tools(root, policy)
    if os.name == "posix":
        from rightcall.execute.code.tools import code_tools

        paths = policy.settings.paths
        rules = path_rules((*paths.deny, *premises.protected), paths.allow, paths.dotfiles)
        sight = Sight(root, rules)
        tools = [*code_tools(sight, policy.code), *tools, *hands.tools(sight, policy, desk, premises.guarded)]
    found = {tool.name: tool for tool in tools}
    if EDIT_FILES in packs and _EDIT in found:
        found[_EDIT] = _with_edit_files(found[_EDIT])
    if GAIA not in packs:
        return found
    from rightcall.executor_gaia import with_gaia

    return with_gaia(found, root, hands.shell(policy) if os.name == "posix" else None)


def _with_edit_files(edit: LocalTool) -> LocalTool:
    """`edit_files` of design 003 is `code/edit` by another name; its operations may be JSON text, its result has the
    changes as `results`, too."""
    from rightcall.executor_gaia import also_named

    def edit_files(**given: Any) -> dict[str, Any]:
        done = edit.function(**given)
        return {**done, "results": done["files"]}

    named = also_named(replace(edit, function=edit_files, offered=("edit_files",)), "edit_files")
    about = named.about
    if about is None or about.schema is None:
        return named
    properties = about.schema["properties"]
    operations = {**properties["operations"], "contentMediaType": "application/json"}
    return replace(
        named, about=replace(about, schema={**about.schema, "properties": {**properties, "operations": operations}})
    )
