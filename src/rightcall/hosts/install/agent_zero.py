"""Where Agent Zero keeps extensions, and which files go there. Nothing but the standard library, so that it also runs
from a checkout on a machine where nothing is installed: `python -m rightcall.hosts.install.agent_zero FOLDER`.

layout     since     extensions of the user          Agent Zero's own
present    0.9.9     usr/extensions/python/<point>   helpers/extension.py, extensions/python/<point>
user       0.9.8     usr/extensions/<point>          python/helpers/extension.py, python/extensions/<point>
old        0.9.5     none: beside its own            likewise

`usr` is the folder that an update of Agent Zero leaves alone. In layout `user` the places of the present one are filled
as well, so that the gate is still there when Agent Zero changes its layout by an update.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from rightcall.base.files.guarded import state_folder
from rightcall.errors import ConfigError

Layout = Literal["present", "user", "old"]

FILE_NAME = "_20_meta_reasoning_gate.py"
MARK = "RightCall's meta-reasoning gate for Agent Zero"
"""In the first line of our file, whatever its version; one without it is somebody else's."""

_SOURCE = Path(__file__).parent.parent / "agent_zero_files" / FILE_NAME
_BEFORE, _AFTER = "tool_execute_before", "tool_execute_after"
_EARLY = "_functions/agent/Agent/validate_tool_request/start"
_PRESENT = "usr/extensions/python"


class PlannedFile(NamedTuple):
    """One file to write, with all it holds, and what is there now: nothing, the same, or an older one of ours."""

    path: Path
    content: bytes
    now: Literal["absent", "same", "older"]


def layout_of(folder: str | os.PathLike[str]) -> Layout:
    """Raises ConfigError where that is no Agent Zero, or one without the hook."""
    root = Path(folder)
    if not root.is_dir():
        raise ConfigError("no such folder; pass the one that contains Agent Zero's agent.py", source=str(root))
    agent = _text(root / "agent.py")
    if agent is not None and _BEFORE not in agent:
        raise ConfigError(f"this Agent Zero has no hook `{_BEFORE}`; it came with version 0.9.5", source=str(root))
    if agent is not None and (root / "helpers" / "extension.py").is_file():
        return "present"
    loader = _text(root / "python" / "helpers" / "extension.py")
    if agent is not None and loader is not None:
        return "user" if "usr/extensions" in loader else "old"
    raise ConfigError(
        "this is not an Agent Zero folder: it has no agent.py with helpers/extension.py (present layout) or "
        "python/helpers/extension.py (old layout); give the folder that holds agent.py, often /a0",
        source=str(root),
    )


def folders_of(folder: str | os.PathLike[str]) -> list[str]:
    """Below Agent Zero's folder: where the extension file goes."""
    layout = layout_of(folder)
    present = [f"{_PRESENT}/{_BEFORE}", f"{_PRESENT}/{_AFTER}", f"{_PRESENT}/{_EARLY}"]
    if layout == "present":
        return present
    own = "usr/extensions" if layout == "user" else "python/extensions"
    return [f"{own}/{_BEFORE}", f"{own}/{_AFTER}", *(present if layout == "user" else ())]


def plan(folder: str | os.PathLike[str]) -> list[PlannedFile]:
    """The files to write, also those that are there already. Raises ConfigError where somebody else's is in the way.

    Nothing is written yet. No file that is not ours is ever changed; removing these undoes everything.
    """
    content = _SOURCE.read_bytes()
    return [_planned(Path(folder) / below / FILE_NAME, content) for below in folders_of(folder)]


def _planned(path: Path, content: bytes) -> PlannedFile:
    if not os.path.lexists(path):
        return PlannedFile(path, content, "absent")
    if not is_ours(path):
        raise ConfigError("this file is not RightCall's and is left alone; move it away to install", source=str(path))
    return PlannedFile(path, content, "same" if path.read_bytes() == content else "older")


def is_ours(path: Path) -> bool:
    """Whether a file is ours to replace or remove."""
    return not path.is_symlink() and path.is_file() and MARK in (_text(path) or "").partition("\n")[0]


def installed(folder: str | os.PathLike[str]) -> list[Path]:
    """Our files that are there, in whichever layout."""
    own = [f"{base}/{point}" for base in ("usr/extensions", "python/extensions") for point in (_BEFORE, _AFTER)]
    places = [*(f"{_PRESENT}/{point}" for point in (_BEFORE, _AFTER, _EARLY)), *own]
    return [path for below in places if is_ours(path := Path(folder) / below / FILE_NAME)]


def install(folder: str | os.PathLike[str]) -> list[Path]:
    """Write what is planned; the files that were written, none when all were there. Raises ConfigError, OSError."""
    written: list[Path] = []
    for file in plan(folder):
        if file.now != "same":
            file.path.parent.mkdir(parents=True, exist_ok=True)
            half = file.path.with_name(f".{FILE_NAME}.{os.getpid()}")  # Agent Zero reads what ends in .py at any time
            half.write_bytes(file.content)
            half.replace(file.path)
            written.append(file.path)
    return written


def uninstall(folder: str | os.PathLike[str]) -> list[Path]:
    """Remove our files, what Python compiled of them, and folders that are empty then; the files that were removed."""
    removed = installed(folder)
    for path in removed:
        path.unlink()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        _remove_empty(path.parent / "__pycache__", Path(folder))
        _remove_empty(path.parent, Path(folder))
    return removed


def _remove_empty(folder: Path, root: Path) -> None:
    """Up to `usr` or `python/extensions`, which Agent Zero has itself."""
    keep = {root, root / "usr", root / "python" / "extensions"}
    while folder not in keep and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def main(
    words: Sequence[str],
    say: Callable[[str], object] = print,
    note: Callable[[str, bool], str] = lambda _folder, _there: "",
) -> int:
    """`[--uninstall] FOLDER`, in the words of the gate's design. `note` is told whether the folder has it now, and says
    what is to be said of that."""
    undo, rest = "--uninstall" in words, [word for word in words if word != "--uninstall"]
    if len(rest) != 1 or rest[0].startswith("-"):
        say("[MetaGate] Usage: install_meta_gate.sh [--uninstall] [FOLDER OF AGENT ZERO, default /a0]")
        return 2
    try:
        if undo:
            return _removed(rest[0], say, note)
        say("[MetaGate] Installing meta-reasoning gate...")
        for path in install(rest[0]):
            say(f"[MetaGate] Wrote {path}")
    except (ConfigError, OSError) as error:
        say(f"[MetaGate] Not installed: {error}")
        return 1
    if told := note(rest[0], True):
        say(f"[MetaGate] {told}")
    say("[MetaGate] Installed parameter validation gate")
    say("[MetaGate] Done. Tool argument validation and auto-correction active.")
    return 0


def _removed(folder: str, say: Callable[[str], object], note: Callable[[str, bool], str]) -> int:
    removed = uninstall(folder)
    if told := note(folder, False):
        say(f"[MetaGate] {told}")
    if not removed:
        say(f"[MetaGate] Nothing of it was in {folder}; nothing was changed.")
        return 0
    for path in removed:
        say(f"[MetaGate] Removed {path}")
    say("[MetaGate] Done. Tool argument validation and auto-correction removed.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


# ── the note ──
# What was put into the folder of Agent Zero, noted for `rightcall status` and `uninstall`: by `rightcall install`, and
# by the script of a checkout, which is this module. Where nothing of ours is installed it notes nothing.

HOST = "agent-zero"


def note(folder: str, there: bool) -> None:
    """Whether a folder has it. Raises ConfigError, OSError, and ImportError without the packages that ours needs."""
    from rightcall.hosts.install.plans import Record, hold_lock, read_manifest, write_manifest

    state, real = state_folder(), os.path.abspath(folder)
    if (read_manifest(state).of(HOST, real) is not None) == there:
        return
    with hold_lock(state):
        known = read_manifest(state)
        record = Record(HOST, real, "", created=True)
        write_manifest(state, known.with_record(record) if there else known.without(HOST, real))


def noted(folder: str, there: bool) -> str:
    """`note` for the script: what went wrong with it, or nothing."""
    try:
        note(folder, there)
    except ImportError:  # nobody reads the note there
        return ""
    except (ConfigError, OSError) as error:
        return f"`rightcall status` may not know of it: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], note=noted))
