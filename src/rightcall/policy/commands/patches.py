"""Patches that a command applies: where their text is known before it runs, the files that they name are what the
command writes. `git apply <<EOF`, `patch -p1 < fix.diff` and `apply_patch '*** Begin Patch …'` are read alike.

What one command of a line hands to another: through a pipe, a here-document, a substitution or a variable.
"""

import os
import re
from collections.abc import Iterator
from itertools import islice
from stat import S_ISREG
from typing import NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.paths import found_words
from rightcall.policy.commands.runs import SECRET_NAME, Run, action_at, option_value
from rightcall.policy.commands.shell import Simple, printed
from rightcall.policy.commands.words import HOLE, WILD, Word, basename

_APPLIES = frozenset(("patch", "gpatch", "apply_patch", "applypatch", "git apply", "git am"))
_LOOKS = frozenset(("--stat", "--numstat", "--summary", "--check", "--dry-run", "--show-current-patch", "--help"))
_ENCODED = regex(r"^content-transfer-encoding:\s*(?:base64|quoted-printable)", re.IGNORECASE | re.MULTILINE)
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


# ── patches ──
# Patches as agents write them: which files one would touch. The envelope of `apply_patch` and unified, context and git
# diffs are read; nothing is applied, and a name too many is better than one too few.

_ENVELOPE = regex(
    r"\*\*\*\s*(?:(?:Add|Update|Delete|Create|Modify|Remove)\s+File|(?:Move|Rename)\s+to)\s*:\s*(.*)", re.IGNORECASE
)
_GIT = regex(r"(?:rename|copy) (?:from|to) (.+)|Index:\s*(.+)")
_BOTH = regex(r"diff --git (.+)")
_QUOTED = regex(r'"((?:\\.|[^"\\])*)"')
_STAMP = regex(r"\t.*|\s\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*")
_INDENT = regex(r"\A[ \tX]*(?:- )*")
"""What `patch` passes over at the beginning of a line."""
_HUNK = regex(r"@@ -\d*(?:,(\d{1,7}))? \+\d*(?:,(\d{1,7}))? @@")
_CHANGES = regex(r"@@ -|\*{15}|\d+(?:,\d+)?[acdis](?:\d+(?:,\d+)?)?$")
"""Where the changes to the files begin that were named before: of a unified, a context and an old diff."""
_NOTHING = ("/dev/null", "NUL")
_MOST_ENDINGS = 64
_MOST_HALVES = 20


def paths_in_patch(text: str, *, endings: bool = False) -> list[str]:
    """The paths that a patch names, each once, in order. Those of a diff stand with and without their first folder,
    since `patch` and `git apply` may take it off; `endings`: without any number of their folders, as `patch` takes
    them that is not told otherwise.

    >>> paths_in_patch("*** Begin Patch\\n*** Update File: a.py\\n*** Move to: b.py\\n@@\\n-x\\n+y\\n*** End Patch")
    ['a.py', 'b.py']
    >>> paths_in_patch("--- a/src/x.py\\n+++ b/src/x.py\\n@@ -1 +1 @@\\n-x\\n+y\\n")
    ['a/src/x.py', 'src/x.py', 'b/src/x.py']
    """
    found = dict.fromkeys(path for path in _find_paths(text) if path and path not in _NOTHING)
    if endings:
        found = dict.fromkeys(one for path in found for one in _endings(path))
    return list(found)


def _endings(path: str) -> Iterator[str]:
    yield path
    rest = path
    for _ in range(_MOST_ENDINGS):
        _, slash, rest = rest.lstrip("/").partition("/")
        if not slash:
            return
        yield rest
    yield path.rpartition("/")[2]


def _find_paths(text: str) -> Iterator[str]:
    rows = text.splitlines()
    lines = [_INDENT.sub("", row.strip()) for row in rows]
    waiting: list[str] = []
    left = [0, 0]
    for row, before, line, after in zip(rows, ("", *lines), lines, (*lines[1:], ""), strict=False):
        inside = _is_body(row, left)
        if line[:3] == "***" and (named := _ENVELOPE.match(line)) is not None:
            yield _plain(named[1])
        elif line[:4] in ("*** ", "--- ", "+++ "):
            if _is_head(before, line, after):
                yield from _either(line[4:])
            elif not inside:
                waiting.append(line[4:])
        elif (git := _GIT.match(line)) is not None:
            yield from _either(git[1] or git[2])
        elif (both := _BOTH.match(line)) is not None:
            yield from _pair(both[1])
        if _CHANGES.match(line) is not None and not inside:
            if (hunk := _HUNK.match(row)) is not None:
                left[:] = [int(count) if count is not None else 1 for count in hunk.groups()]
            for one in waiting:
                yield from _either(one)
            waiting.clear()


def _is_head(before: str, line: str, after: str) -> bool:
    """Whether a line names a file by what stands beside it; others do where changes follow."""
    if line[0] == "*":
        return after.startswith("--- ")
    if line[0] == "-":
        return after.startswith(("+++ ", "@@ ", "***")) or before.startswith("*** ")
    return before.startswith("--- ") or after.startswith("@@ ")


def _is_body(row: str, left: list[int]) -> bool:
    """Whether a line belongs to the changes that were announced; `left` counts the old and the new lines still to
    come."""
    if left[0] <= 0 and left[1] <= 0:
        return False
    if row[:1] not in ("", " ", "-", "+", "\\"):
        left[:] = [0, 0]
        return False
    left[0] -= row[:1] in ("", " ", "-")
    left[1] -= row[:1] in ("", " ", "+")
    return True


def _either(written: str) -> Iterator[str]:
    for path in _names(written.strip()):
        yield path
        _, slash, rest = path.lstrip("/").partition("/")
        if slash and path not in _NOTHING:
            yield rest


def _names(written: str) -> Iterator[str]:
    """A name may have blanks in it; `patch` ends it at the first one all the same, and at the closing quote."""
    quoted = _QUOTED.match(written)
    if quoted is not None:
        yield _plain(quoted[0])
        return
    whole = _STAMP.sub("", written)
    yield whole
    first = whole.split(maxsplit=1)[:1]
    yield from (one for one in first if one != whole)


def _pair(written: str) -> Iterator[str]:
    """`a/x b/x`, or `x x`: where the first ends is not said, as a name may have blanks in it."""
    first = _QUOTED.match(written)
    if first is not None:
        halves = [first[0], written[first.end() :]]
    elif written.endswith('"'):
        head, _, tail = written.partition(' "')
        halves = [head, f'"{tail}']
    else:
        middle = len(written) // 2
        blanks = [found.start() for found in islice(re.finditer(" ", written), _MOST_HALVES)]
        blanks += [middle] if written[middle : middle + 1] == " " else []
        halves = [half for at in dict.fromkeys(blanks) for half in (written[:at], written[at + 1 :])] or [written]
    for half in halves:
        yield from _either(half)


def _plain(written: str) -> str:
    """Without the quotes that git puts around a name with odd characters."""
    written = written.strip()
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return written
    return re.sub(rb"(?s)\\([0-7]{3}|.)", _byte, quoted[1].encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _byte(found: re.Match[bytes]) -> bytes:
    said = found[1]
    if len(said) == 3:
        return bytes([int(said, 8) & 0xFF])
    return {b"t": b"\t", b"n": b"\n", b"r": b"\r"}.get(said, said)


# ── what one command hands to another ─────────────────────────────────────────────────────────────────────────────────

_PASSED_OVER = frozenset(("sudo", "env", "command", "nohup", "time", "timeout", "nice", "exec"))


def list_of(run: Run) -> Word | None:
    """The file that `xargs` takes its words from: `xargs -a list`."""
    if run.program not in ("xargs", "gxargs", "parallel"):
        return None
    return option_value(run.arguments, "-a", "--arg-file")


def told_by(command: Simple, commands: list[Simple], variables: dict[str, tuple[str, ...] | None]) -> list[Word]:
    """The words that a command reads, where the line tells them."""
    told: list[Word] = []
    for redirect in command.redirects:
        told += as_words(redirect.text or "")
        sources = () if redirect.writes else redirect.target.inner
        told += [word for at in sources if commands[at].words for word in handed_on(commands[at], variables)]
    for at in command.fed:
        told += handed_on(commands[at], variables) if commands[at].words else []
    return told


_PICKED = (
    ".env",
    "secret",
    "id_rsa",
    "id_ed25519",
    "password",
    "credentials",
    ".pem",
    ".netrc",
    ".npmrc",
    "kubeconfig",
)


def lists_settings(command: Simple) -> bool:
    values = [word.value for word in command.words]
    return "config" in values[1:4] and values[0] == "git" and not {"-l", "--list", "list"}.isdisjoint(values)


def picks_secrets(source: Simple) -> str:
    """The name of a secret that `grep` lets through from a list of names, or ""."""
    if not source.words or basename(source.words[0].value) not in ("grep", "egrep", "rg"):
        return ""
    values = [word.value for word in source.words[1:]]
    texts = [one for one in values if not one.startswith("-")]
    if len(texts) != 1 or any(re.fullmatch(r"-[a-zA-Z]*v[a-zA-Z]*|--invert-match", one) for one in values):
        return ""
    choices = [re.sub(r"[\\^$*()?\[\]]", "", one) for one in texts[0].split("|")]
    return next((name for name in _PICKED for one in choices if len(one) > 2 and one in name), "")


def replaced_by(run: Run) -> str:
    """The text that `xargs -I` replaces."""
    for at, value in enumerate(run.values):
        if value.startswith("-I"):
            return value[2:] or (run.values[at + 1] if at + 1 < len(run.values) else "{}")
    return "{}"


def program_of(command: Simple) -> str:
    """The program of a command, behind the commonest wrappers."""
    for word in command.words:
        name = basename(word.value)
        if name not in _PASSED_OVER and not name.startswith("-") and "=" not in name and not name.isdigit():
            return name
    return ""


def printers(word: Word, commands: list[Simple]) -> tuple[str, ...]:
    """The programs whose output stands in a word; `$(<file)` prints like `cat`."""
    found = (commands[at] for at in word.inner)
    return tuple(program_of(one) if one.words else "cat" for one in found if one.words or one.redirects)


def exported(command: Simple) -> list[tuple[str, Word]]:
    """`export NAME=value`."""
    if not command.words or command.words[0].value not in ("export", "declare", "typeset", "readonly", "setenv"):
        return []
    pairs = [(word, word.value.partition("=")) for word in command.words[1:] if "=" in word.value]
    return [(name, Word(value, None, True, word.names, word.inner)) for word, (name, _, value) in pairs]


def input_of(command: Simple, commands: list[Simple]) -> str | None:
    """The text that a command reads, where it stands in the line itself."""
    for redirect in command.redirects:
        if redirect.text is not None:
            return redirect.text
        if redirect.target.inner and not redirect.writes:  # `< <(echo …)`
            source = commands[redirect.target.inner[0]]
            return printed(source, {}) if len(redirect.target.inner) == 1 and source.words else None
    for at in reversed(command.fed):  # the nearest first
        source = commands[at]
        if not source.words or source.words[0].value not in ("cat", "tee"):
            return printed_by_stage(source, at, command.fed, commands) if source.words else None
        if source.redirects:
            return source.redirects[0].text
        if source.words[0].value == "cat" and len(source.words) > 1:
            return None
    return None


def printed_by_stage(last: Simple, at: int, fed: tuple[int, ...], commands: list[Simple]) -> str | None:
    """What one stage of a pipe prints, which may be a group of several commands."""
    inner = {number for one in fed for word in commands[one].words for number in word.inner}
    stage = [one for one in fed if one <= at and one not in inner and commands[one].fed == last.fed]
    texts = [printed(commands[one], {}) if commands[one].words else None for one in stage]
    known = [text for text in texts if text is not None]
    return "\n".join(known) if len(known) == len(texts) else None


def is_narrowed(command: Simple, commands: list[Simple]) -> bool:
    """Whether `grep` leaves only lines of its output that name no secret: `env | grep PATH`."""
    if not command.words or command.words[0].value not in ("env", "printenv"):
        return False
    at = next((n for n, one in enumerate(commands) if one is command), -1)
    after = next((one for one in commands[at + 1 :] if at in one.fed), None) if at >= 0 else None
    if after is None or not after.words or basename(after.words[0].value) not in ("grep", "egrep", "rg"):
        return False
    texts = [one.value for one in after.words[1:] if not one.value.startswith("-")]
    options = [one.value for one in after.words[1:] if one.value.startswith("-")]
    return (
        len(texts) == 1 and re.fullmatch(r"\^?[A-Z][A-Z0-9_]{2,}=?", texts[0], re.IGNORECASE) is not None
        and not SECRET_NAME.search(texts[0].strip("^="))
        and texts[0].upper().strip("^=") in _SHOWN and not any("v" in one for one in options)
    )  # fmt: skip


_SHOWN = frozenset(
    ("PATH", "HOME", "USER", "SHELL", "LANG", "LC", "PWD", "NODE", "PYTHON", "PYTHONPATH", "NODE_ENV", "JAVA_HOME",
     "GOPATH", "GOROOT", "CUDA", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA", "TERM", "EDITOR", "PROXY", "TMPDIR",
     "DISPLAY", "NVM", "RUBY", "RUST", "CARGO_HOME", "XDG", "DEBUG", "PORT", "HOSTNAME")
)  # fmt: skip
"""Names of variables, or parts of them, that say nothing secret."""


def reads_names(run: Run) -> bool:
    """Whether it takes names of files from its input."""
    if run.program in ("cpio", "pax", "afio"):
        return True
    return any(
        one in ("-@", "-T-", "--files-from=-", "--files0-from=-", "--input-file=-")
        or (
            one == "-"
            and run.values[at - 1] in ("-T", "--files-from", "--files0-from", "-i", "--input-file")
            and at > 0
        )
        for at, one in enumerate(run.values)
    )


def as_words(text: str) -> list[Word]:
    """The words that `xargs` makes of a text."""
    words = re.sub(r"['\"\\]", "", text).split()
    return [*(Word(one) for one in words[:200]), *([Word(HOLE)] if len(words) > 200 else [])]


def written_text(run: Run, command: Simple) -> str | None:
    """What a command writes to its output, where the line itself tells it."""
    if run.program in ("cat", "tee") and all(one.value in ("-", "/dev/stdin", "-n") for one in run.arguments
                                             if run.program == "cat"):  # fmt: skip
        return run.text
    return printed(command, {}) if command.words and run.program in ("echo", "printf") else None


def handed_on(source: Simple, variables: dict[str, tuple[str, ...] | None]) -> list[Word]:
    """The words that a command would hand on to `xargs`."""
    program = basename(source.words[0].value)
    if program in ("find", "gfind"):
        words = source.words
        return found_words(Run(program, words[0], words[1:], source.folders, values=[one.value for one in words[1:]]))
    if program in ("ls", "gls"):  # the names that it is given, or those in a folder
        return [*(word for word in source.words[1:] if not word.value.startswith("-")), Word(HOLE)]
    text = printed(source, variables)
    return [Word(one, one if WILD.search(one) else None) for one in text.split()] if text is not None else []
