"""The hook without a server: the door is opened, one event is judged, the door is closed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rightcall.hosts.hook import Options
    from rightcall.types import Mode


def judged(options: Options, event: bytes, allow: Callable[[float], None]) -> str:
    """What is to be printed. `allow` is told how many seconds the policy gives in all. Never raises."""
    _lighten()
    from rightcall.hosts.hook_judging import Failed, Hook, Hooks

    mode = cast("Mode | None", options.mode)
    hook = Hook(options.host, options.policy or "", options.root, mode, options.caller, options.found)
    try:
        hooks = Hooks(hook, every_tool=False)
    except Exception as fault:  # noqa: BLE001 - a policy that is wrong, a record that cannot be used, or our own fault
        from rightcall.hosts.hook_failing import failure

        why = str(fault) or type(fault).__name__
        return failure(options.host, options.policy, options.mode, why, found=options.found)
    try:
        allow(hooks.deadline)
        return hooks.answer(event, can_ask=options.terminal)
    except Failed as failed:
        if failed.answer:
            from rightcall.hosts.hook_failing import tell_operator

            tell_operator(str(failed))
        return failed.answer
    finally:
        hooks.close()


def _lighten() -> None:
    """msgspec would load `typing_extensions` where it is installed, only to know a type of it by sight; no type of
    ours is one, and it takes as long to load as all of msgspec."""
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401  # pyright: ignore[reportUnusedImport]
    finally:
        del sys.modules["typing_extensions"]
