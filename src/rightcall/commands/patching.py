"""Patches that a command applies: where their text is known before it runs, the files that they name are what the
command writes. `git apply <<EOF`, `patch -p1 < fix.diff` and `apply_patch '*** Begin Patch …'` are read alike."""

import os
import re
from stat import S_ISREG
from typing import NamedTuple

from rightcall.commands.options import action_at, option_value
from rightcall.commands.runs import Run
from rightcall.commands.shell import Simple
from rightcall.commands.words import HOLE, Word, basename
from rightcall.parse.late import Late

_APPLIES = frozenset(("patch", "gpatch", "apply_patch", "applypatch", "git apply", "git am"))
_LOOKS = frozenset(("--stat", "--numstat", "--summary", "--check", "--dry-run", "--show-current-patch", "--help"))
_ENCODED = Late(r"^content-transfer-encoding:\s*(?:base64|quoted-printable)", re.IGNORECASE | re.MULTILINE)
_LARGEST = 1_000_000
_MOST_FILES = 20
_VALUED = "-p -d -i -o -r -F -B -D -V -Y -z -g -C --directory --input --strip --output --exclude --include"


class Patching(NamedTuple):
    """What a command would apply."""

    paths: tuple[str, ...] = ()
    folder: str | None = None
    """That the paths count from, besides the one that the command runs in."""
    unknown: bool = False
    """There may be more that nobody has seen."""


def applies_patch(run: Run) -> bool:
    """Whether a command changes the files that a patch names."""
    name = run.program
    if name == "git":
        if "apply" not in run.values and "am" not in run.values:
            return False
        at = action_at("git", run.arguments)
        name = f"git {run.values[at]}" if at >= 0 else ""
    return name in _APPLIES and (_LOOKS.isdisjoint(run.values) or "--apply" in run.values)


def patched_by(run: Run, files: list[Word], written: dict[str, str]) -> Patching:
    """The files that the patches of a command name. `files` are those that its input comes from; `written` has the
    texts that the line itself wrote to files."""
    from rightcall.text.patches import paths_in_patch  # late: few commands apply one

    texts: list[str] = [run.text] if run.text is not None else []
    unknown = False
    for word in [*files, *_named(run)][:_MOST_FILES]:
        text = read_small(run, word, written)
        unknown |= text is None
        texts += [text] if text else []
    if run.program in ("apply_patch", "applypatch"):
        texts += run.values
    strip = option_value(run.arguments, "-p", "--strip")
    bare = run.program in ("patch", "gpatch") and strip is None
    deep = bare or (strip is not None and strip.value not in ("0", "1"))
    paths = dict.fromkeys(path for text in texts for path in paths_in_patch(text, endings=deep))
    unknown |= any(_ENCODED.search(text) for text in texts)
    folder = option_value(run.arguments, "--directory", *(("-d",) if run.program != "git" else ()))
    return Patching(tuple(paths), None if folder is None else folder.value, unknown)


def _named(run: Run) -> list[Word]:
    """The patch files among the words of a command."""
    if run.program == "git":
        at = action_at("git", run.arguments)
        rest = Run("", run.name, run.arguments[at + 1 :], run.folders)
        return rest.operands(_VALUED)
    if run.program in ("patch", "gpatch"):
        given = option_value(run.arguments, "-i", "--input")
        return [given] if given is not None else run.operands(_VALUED)[1:2]
    return []


def fed_files(command: Simple, commands: list[Simple]) -> list[Word]:
    """The files that a command's input comes from: `< x`, `cat x |`."""
    found = [one.target for one in command.redirects if not one.writes and one.text is None and not one.target.inner]
    for source in (commands[at] for at in command.fed):
        if source.words and basename(source.words[0].value) == "cat":
            found += [word for word in source.words[1:] if not word.value.startswith("-")]
            found += [one.target for one in source.redirects if not one.writes and one.text is None]
    return found


def read_small(run: Run, word: Word, written: dict[str, str]) -> str | None:
    """The text of a file that a command obeys; "" where there is none, None where it is too large to look at."""
    if HOLE in word.value or "\0" in word.value or word.value == "-":
        return ""
    for folder in run.folders:
        path = os.path.normpath(os.path.join(folder, word.value))
        if path in written:
            return written[path]
        try:
            status = os.stat(path)
            if not S_ISREG(status.st_mode):
                continue
            if status.st_size > _LARGEST:
                return None
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(_LARGEST)
        except (OSError, ValueError):
            continue
    return ""
