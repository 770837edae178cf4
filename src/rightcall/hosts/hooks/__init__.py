"""`rightcall hook`: the process that Claude Code, Gemini CLI and Codex start for each call.

    event ─▶ hook ─▶ a server that listens, or judgement (the whole engine) ─▶ wires (claude, gemini, codex) ─▶ answer

`wires` also says what an event is, whichever host it is from; `place` where a hook finds policy, socket and record.
`hook` is loaded alone and asks the server first, since a host waits for it at every call.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.hosts.hooks.hook import HOSTS, Options, ask_server, is_hook
    from rightcall.hosts.hooks.judgement import Failed, Hook, Hooks, policy_source
    from rightcall.hosts.hooks.place import policy_of_project, project_folder, socket_path
    from rightcall.hosts.hooks.wires import Happened
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "hook": "HOSTS Options ask_server is_hook",
            "judgement": "Failed Hook Hooks policy_source",
            "place": "policy_of_project project_folder socket_path",
            "wires": "Happened",
        },
    )

__all__ = [
    "HOSTS", "Failed", "Happened", "Hook", "Hooks", "Options", "ask_server", "is_hook", "policy_of_project",
    "policy_source", "project_folder", "socket_path",
]  # fmt: skip
