"""What would become of the chosen call, before it is tried: the policies that would decide are asked."""

import os
from argparse import Namespace

from msgspec import Struct

from rightcall.cli.lines import InputError
from rightcall.cli.output import json_text
from rightcall.cli.store_options import database_of
from rightcall.config_router import RouterSettings
from rightcall.errors import RightCallError
from rightcall.executor_request import canonical
from rightcall.route.execute import ASKED, NOBODY, rehearsed
from rightcall.route.types import Packet, SelectedTool
from rightcall.types_running import DecisionKind

_SWITCHES = {"write": "allow_write_tools", "execute": "allow_execute_tools"}


class Expected(Struct, frozen=True):
    """The call as it would run, and what would be decided of it."""

    call: str
    kind: DecisionKind
    rule: str
    reason: str = ""


def expected(options: Namespace, packet: Packet, settings: RouterSettings) -> Expected | None:
    """None where no tool is chosen."""
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return None
    call = _canonical(selected)
    if options.tools and not _are_functions(options):
        return Expected(call, "deny", "tools", NOBODY)
    from rightcall.cli.policy_explain import explain

    live = os.path.exists(database_of(options))
    asked = Namespace(
        words=[selected.tool_name, json_text(selected.params)], caller=options.caller, policy=options.policy,
        root=options.root, db=options.db if live else None, live=live, tools=options.tools, pack=[],
    )  # fmt: skip
    try:
        found = explain(asked)
    except InputError as error:
        return Expected(call, "deny", "unknown", str(error))
    decision = found.decision
    held_back = [one for one in rehearsed(settings) if one in found.tool.tool.effects]
    if decision.kind in ("allow", "ask") and held_back:
        switches = " and ".join(f"{_SWITCHES[effect]} = false" for effect in held_back)
        return Expected(call, "dry_run", "router", f"[router] of the policy says {switches}")
    asking = next((one for one in ASKED if one in found.tool.tool.effects), None)
    if decision.kind == "allow" and asking is not None and decision.grant is None and decision.approval is None:
        return Expected(call, "ask", f"approval:{asking}", "the router has a person asked, unless a grant covers it")
    return Expected(call, decision.kind, decision.rule, decision.reason)


def not_allowed(options: Namespace) -> tuple[str, ...]:
    """Of the functions that were given, those that the policy does not let this caller use."""
    if not options.tools or not _are_functions(options):
        return ()
    from rightcall.cli.routing import folder_executor
    from rightcall.cli.toolfiles import load_tools
    from rightcall.route.words import tool_texts

    try:
        executor = folder_executor(options, load_tools(options.tools))
    except RightCallError:  # definitions are among them, which nobody here runs
        return ()
    usable = {one.name for one in tool_texts(executor.definitions(options.caller, "mcp"))}
    return tuple(name for name in executor.gate.catalog.tools if name not in usable)


def _are_functions(options: Namespace) -> bool:
    return all(":" in source and not os.path.exists(source) for source in options.tools)


def _canonical(selected: SelectedTool) -> str:
    try:
        return canonical(selected.tool_name, selected.params).raw.decode("utf-8", "replace")
    except (TypeError, ValueError, OverflowError, RecursionError):  # shown all the same; such a call is refused
        return json_text({"arguments": selected.params, "name": selected.tool_name})
