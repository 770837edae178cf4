"""Show where RightCall is installed, in which mode, and whether it works. Each hook is run once, with a call of a tool
that does not exist (`rightcall_status`); where a policy is in force, that call is recorded there."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.install import USUAL, lock_folder
from rightcall.cli.options import Looking, json_option
from rightcall.cli.terminal import Style, hang, json_text, say, style_for
from rightcall.errors import ConfigError, StoreError
from rightcall.hosts import agent_zero_install
from rightcall.hosts.hooks.place import policy_of_project, project_folder, record_without_policy
from rightcall.hosts.install.places import mode_of
from rightcall.hosts.install.plans import Installed, Manifest, Record, installed_in, places, read_manifest
from rightcall.hosts.install.trying import Tried, server_answers, switched_off, try_hook, try_server, why_not_run
from rightcall.policy.ledger import stopped
from rightcall.policy.types import Pause
from rightcall.record.identity import lost, refuse_leaving
from rightcall.record.sqlite_file import unusable, way_out

EXAMPLES = """\
examples:
  rightcall status
  rightcall status --json
"""


def arguments(parser: ArgumentParser) -> None:
    json_option(parser, "what is installed")


def run(options: Namespace) -> int:
    manifest = read_manifest(lock_folder())
    found = [*_of_settings(manifest), *_of_agent_zero(manifest)]
    server = _server()
    stores = [*_stores()]
    paused = [one for path in stores if (one := _paused(path)) is not None] or _paused_everywhere()
    faults = [fault for path in stores if (fault := _fault(path)) is not None]
    clashes = _clashes(stores[0])
    if options.json:
        say(json_text({
            "installed": found, "server": server, "paused": paused, "faults": faults, "clashes": clashes
        }))  # fmt: skip
    else:
        style = style_for(sys.stdout)
        say(*(style.tint(line, "red", "bold") for one in paused for line in _paused_lines(one)))
        say(*(style.tint(fault, "red") for fault in faults))
        say(*(line for one in found for line in _lines(one, style)))
        if not found:
            say("Nothing is installed. `rightcall install --help` shows what there is.")
        say(_server_line(server))
        say(*(f"{style.tint('!', 'yellow')} gateway: {clash}" for clash in clashes))
    return REFUSED if faults or any(one["works"] is False for one in found) else OK


def _of_settings(manifest: Manifest) -> Iterator[dict[str, Any]]:
    for host, path in places(manifest, os.getcwd(), os.environ):
        try:
            installed = installed_in(host, path)
        except ConfigError as error:
            if manifest.of(host.name, os.path.realpath(path)) is not None:
                yield _record(host.name, path, works=False, why=str(error))
            continue
        if installed is not None:
            yield from _tried(installed, manifest.of(host.name, os.path.realpath(path)))


def _tried(installed: Installed, record: Record | None) -> Iterator[dict[str, Any]]:
    name, path, policy = installed.host.name, installed.path, installed.policy
    for entry in installed.servers:
        tried = try_server(entry, os.environ)
        modes = [mode for mode in (mode_of(entry.ours),) if mode]
        yield _of(tried, name, path, mode=modes, policy=policy, server=entry.name, unenforced=_gaps("wrap", policy))
    if installed.hooks:
        off = switched_off(installed.host, path, installed.settings)
        tried = Tried(off) if off else try_hook(installed, record, os.environ)
        missing = sorted(set(installed.host.events) - {one.event for one in installed.hooks})
        if missing and tried.works:
            tried = Tried(f"the hooks for {', '.join(missing)} are not there: install it again")
        if tried.works and (untrusted := _why_passed_over(installed)):
            tried = Tried(untrusted)
        used = policy or policy_of_project(project_folder())
        gaps = _gaps(name, policy) if policy else _gaps(name, used, found=True)
        yield _of(tried, name, path, mode=installed.modes, policy=used, unenforced=gaps)


def _gaps(host: str, policy: str | None, *, found: bool = False) -> list[dict[str, str]]:
    """What the policy says and the host cannot do. Without a policy there is nothing that it could not."""
    if policy is None:
        return []
    from rightcall.hosts.enforcement import unenforced
    from rightcall.policy.discovery import FoundPolicy
    from rightcall.policy.loader import load_policy

    with suppress(ConfigError, OSError):  # a policy that is wrong is told of beside
        said = load_policy(FoundPolicy(policy, quiet=True) if found else policy)
        return [{"rule": one.rule, "why": one.why} for one in unenforced(said, host)]
    return []


def _why_passed_over(installed: Installed) -> str:
    """Why the host runs none of our hooks although they work."""
    if installed.host.name != "codex":
        return ""
    return why_not_run(installed, os.environ)


def _of(tried: "Tried", host: str, path: str, **more: Any) -> dict[str, Any]:
    return _record(
        host, path, works=tried.works, why=tried.why or tried.unknown, milliseconds=tried.milliseconds, **more
    )


def _record(host: str, path: str, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"mode": [], "policy": None, "server": None, "milliseconds": None, "unenforced": []}
    return {"host": host, "file": path} | usual | more


def _of_agent_zero(manifest: Manifest) -> Iterator[dict[str, Any]]:
    noted = [one.file for one in manifest.files if one.host == "agent-zero"]
    # a script without our packages may have put it there, and could note nothing
    unnoted = [USUAL] if USUAL not in noted and agent_zero_install.installed(USUAL) else []
    for folder in [*noted, *unnoted]:
        try:
            old = [file for file in agent_zero_install.plan(folder) if file.now != "same"]
            why = "its files are not there, or older ones: install it again" if old else ""
        except ConfigError as error:
            why = str(error)
        yield _record("agent-zero", folder, works=not why, why=why)


def _stores() -> Iterator[str]:
    """This project's store, and the one that hooks without a policy share."""
    from rightcall.executor.stores import found_folder, store_path
    from rightcall.policy.discovery import FoundPolicy
    from rightcall.policy.loader import load_policy

    policy = policy_of_project(project_folder())
    with suppress(ConfigError, StoreError):  # what is wrong with it is told elsewhere
        found = load_policy(None if policy is None else FoundPolicy(policy, quiet=True))
        path = store_path(found, policy, project_folder())
        refuse_leaving(path, found_folder(found, policy, project_folder()) or os.path.dirname(path))
        yield path
    yield record_without_policy()


class _Beside(Struct, frozen=True):
    """Stands for a store that need not be opened: only what lies beside it is read."""

    path: str


def _clashes(store: str) -> list[str]:
    """Names that more than one tool would have in the gateway's list, by what its servers listed last."""
    policy = policy_of_project(project_folder())
    if policy is None:
        return []
    from rightcall.mcp.gateway.names import clash_words, name_tools
    from rightcall.policy.discovery import FoundPolicy
    from rightcall.policy.loader import load_policy
    from rightcall.record.notes import remembered_tools

    with suppress(ConfigError, OSError):
        servers = [one for one in load_policy(FoundPolicy(policy, quiet=True)).servers.values() if one.enabled]
        known = [(one.name, tool.get("name")) for one in servers for tool in remembered_tools(_Beside(store), one.name)]
        pairs = [(server, tool) for server, tool in known if isinstance(tool, str) and tool]
        named = name_tools(pairs, {one.name: one.prefix for one in servers if one.prefix is not None})
        wires = {pair: wire for wire, pair in named.names.items()}
        return [clash_words(clash, lambda server, tool: wires.get((server, tool))) for clash in named.clashes]
    return []


def _paused(path: str) -> dict[str, Any] | None:
    """The emergency stop of a store, while it holds; None also where the store is not there or cannot be read."""
    if not os.path.exists(path):
        return None
    from rightcall.cli.pause import state_record

    with suppress(StoreError), closing(Looking(path, found=path != record_without_policy())) as store:
        held = store.look(lambda tables: tables.paused())
        return None if held is None else {"store": path} | state_record(held)
    return None


def _paused_everywhere() -> list[dict[str, Any]]:
    from rightcall.cli.pause import state_record

    held = stopped()
    return [] if held is None else [{"store": "everywhere"} | state_record(held)]


def _fault(path: str) -> str | None:
    """Why a store cannot be used, where it is lost, replaced or damaged: then every call is refused."""
    file = Path(path).resolve()
    if problem := lost(file):
        return str(unusable(file, problem, way_out(file), "replaced"))
    try:
        if os.path.exists(path):
            with closing(Looking(path, found=path != record_without_policy())) as store:
                store.look(lambda tables: tables.head())
    except StoreError as fault:
        return str(fault)
    return None


def _paused_lines(one: dict[str, Any]) -> list[str]:
    from rightcall.cli.pause import paused_line

    return [*paused_line(Pause(one["by"], one["since"], one["reason"] or "")), f"  store: {escaped(one['store'])}"]


def _server() -> dict[str, Any]:
    policy = policy_of_project(project_folder())
    answers = server_answers(policy)
    return {"policy": policy, "running": answers is not None, "answers": answers}


def _server_line(server: dict[str, Any]) -> str:
    if not server["running"]:
        return "server: none is running for this folder; each hook judges by itself, which takes a little longer"
    return f"server: {'answers' if server['answers'] else 'does not answer'}, for {escaped(server['policy'])}"


def _lines(one: dict[str, Any], style: Style) -> list[str]:
    name = f"{one['host']}: {one['server']}" if one["server"] else one["host"]
    mode = f"mode {', '.join(one['mode'])}" if one["mode"] else "mode as the policy says"
    policy = f"policy {one['policy']}" if one["policy"] else "no policy"
    took = f" (answers in {one['milliseconds']} ms)" if one["milliseconds"] is not None else ""
    broken = style.tint(f"does not work: {escaped(one['why'])}", "red")
    state = style.tint(f"works{took}", "green") if one["works"] else broken
    if one["works"] is None:
        state = style.tint(escaped(one["why"]), "yellow")
    facts = "" if one["host"] == "agent-zero" else f"  {escaped(f'{mode}, {policy}')}\n"
    lines = f"{escaped(name)}  {escaped(one['file'])}\n{facts}  {state}".split("\n")
    for gap in one["unenforced"]:
        lines += hang(f"  {style.tint('!', 'yellow')} ", f"not enforced: {gap['rule']}: {gap['why']}", style)
    return lines
