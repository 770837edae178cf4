"""What git would do: take back work, push over what others have, or run what a setting says."""

import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from stat import S_ISREG
from typing import NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.paths import found_words
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import (
    SECRET_NAME,
    RuleHit,
    Run,
    action_at,
    is_meant,
    option_value,
    options_of,
    seeks_secrets,
)
from rightcall.policy.commands.shell import Simple, printed
from rightcall.policy.commands.words import HOLE, WILD, Word, basename

_LOSES = regex(r"clean\.requireforce|gc\..*|receive\.deny.*|push\..*", re.IGNORECASE)
"""Settings that make a harmless command lose something."""
_GIT_SET = regex(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|attributesfile|worktree|gitproxy)|alias\..*"
    r"|credential\..*"
    r"|filter\..*|(?:diff|merge)\..*\.(?:command|driver|textconv|cmd|tool)|url\..*|include.*|http\..*"
    r"|remote\..*|protocol\..*"
    r"|submodule\..*|gpg\..*|sequence\.editor|pager\..*|safe\..*|uploadpack\..*|receive\..*|init\.templatedir"
    r"|commit\.template",
    re.IGNORECASE,
)  # fmt: skip


def _made_by_git(action: str, rest: list[Word]) -> list[Word]:
    """The folder that a repository or a work tree is made in."""
    if action not in ("clone", "worktree", "init", "submodule"):
        return []
    names = [word for word in rest if not word.value.startswith("-")]
    return names[:1] if action == "init" else names[1:]


def git_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    at = action_at("git", run.arguments)
    for option, word in options_of("git ", run.arguments[:at]) if at > 0 else ():
        name, _, value = word.value.partition("=") if word is not None else ("", "", "")
        if option in ("-c", "--config-env"):
            if _GIT_SET.fullmatch(name) and (option != "-c" or not _shows_only(name, value)):
                yield RuleHit("runs", f"git {option} {name}")
            elif _LOSES.fullmatch(name):
                yield RuleHit("destroys", f"git -c {name}")
        elif option == "--exec-path" and any(one.startswith("--exec-path=") for one in run.values):
            yield RuleHit("runs", "git --exec-path")
    if any(one.startswith("ext::") for one in run.values):
        yield RuleHit("network", "git ext::")
    if at < 0:
        return
    action, rest = run.arguments[at].value, run.arguments[at + 1 :]
    for word in _made_by_git(action, rest):
        if any(place.is_started_from(path) for path in run.wholes(word, place)):
            yield RuleHit("persists", f"git {action} … {word.value}")
    if action in ("mv", "rm") and any(
        place.holds_guard(path) for word in rest if word.value[:1] != "-" for path in run.wholes(word, place)
    ):
        yield RuleHit("guards", f"git {action} {rest[0].value}")
    rule = _GIT_RULES.get(action)
    if rule is not None:
        yield from rule(_Words(action, rest))


class _Words:
    """The words behind `git push` and the like."""

    def __init__(self, action: str, rest: list[Word]) -> None:
        self.action = action
        self.rest = [word.value for word in rest]
        self.options = [name for name, _ in options_of(f"git {action}", rest)]

    def has(self, *names: str) -> str:
        """The first of these options that is given, also shortened."""
        return next((one for one in names for given in self.options if is_meant(one, given)), "")

    @property
    def names(self) -> list[str]:
        return [one for one in self.rest if not one.startswith("-")]


def _shows_only(name: str, value: str) -> bool:
    """`-c core.pager=cat`: a pager or an editor that does nothing."""
    return name.casefold().startswith(("core.pager", "pager.", "core.editor", "sequence.editor")) and value in (
        "cat", "less", "less -FRX", "less -R", "more", "true", ":", "", "false", "delta",
    )  # fmt: skip


def _git_push(words: _Words) -> Iterator[RuleHit]:
    forced = words.has(
        "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune", "-f", "-d"
    )
    refs = [one for one in words.rest if one.startswith(("+", ":")) and len(one) > 1]
    if forced or refs:
        word = forced or refs[0]
        yield RuleHit("destroys", f"git push {word}", (word,))


def _git_fetch(words: _Words) -> Iterator[RuleHit]:
    """A branch of one's own that is given what another holds, whatever it held before: `git fetch origin +a:b`."""
    forced = words.has("-f", "--force")
    for one in words.names[1:]:
        _, colon, to = one.partition(":")
        if colon and (forced or one.startswith("+")) and not to.startswith("refs/remotes/"):
            yield RuleHit("destroys", f"git fetch {one}", ())
            return


def _git_checkout(words: _Words) -> Iterator[RuleHit]:
    rest, names = words.rest, words.names
    if "--" in rest and rest.index("--") < len(rest) - 1:
        yield RuleHit("destroys", f"git checkout -- {rest[-1]}", ("--",))
        return
    if words.has("-b", "-B", "--orphan", "--track", "-t", "--detach"):
        return
    if (
        words.has("--pathspec-from-file", "--ours", "--theirs")
        or len(names) > 1
        or (names and (names[0].endswith("/") or names[0] in (".", "*", "./") or _is_file(names[0])))
    ):
        yield RuleHit("destroys", f"git checkout {' '.join(names[:2])}", ())


def _is_file(name: str) -> bool:
    """A name with an ending, and no branch: `src/app.py`."""
    return re.search(r"\.[a-z]{1,4}$", name) is not None and not re.match(r"v?\d+(\.\d+)+$|release|hotfix", name)


def _git_restore(words: _Words) -> Iterator[RuleHit]:
    if not words.has("--staged", "-S") or words.has("--worktree", "-W"):
        yield RuleHit("destroys", "git restore " + " ".join(words.rest[:2]))


def _git_config(words: _Words) -> Iterator[RuleHit]:
    rest = words.rest
    if {"--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin", "get", "list"} & set(
        rest
    ):
        if any(_SECRET_SETTING.search(one) for one in rest):
            yield RuleHit("credentials", "git config credential")
        return
    names = [one for at, one in enumerate(rest) if one[:1] != "-" and one not in ("set", "unset")
             and (not at or rest[at - 1] not in ("-f", "--file"))]  # fmt: skip
    if len(names) == 1 and _SECRET_SETTING.search(names[0]):
        yield RuleHit("credentials", f"git config {names[0]}")
    sets = len(names) > 1 or any(
        one.startswith("--unset") or one in ("--add", "--replace-all", "unset") for one in rest
    )
    if names and sets and _GIT_SET.fullmatch(names[0]):
        yield RuleHit("persists", f"git config {names[0]}")
    elif "--system" in rest or "-e" in rest or "--edit" in rest or (sets and "--global" in rest):
        yield RuleHit("persists", "git config --global" if "--global" in rest else "git config --system")


_SECRET_SETTING = regex(r"credential|token|passw|extraheader|secret|smtppass", re.IGNORECASE)


def _git_clone(words: _Words) -> Iterator[RuleHit]:
    if words.has("--template"):  # with hooks in it
        yield RuleHit("persists", f"git {words.action} --template")
    if any(one.startswith("ext::") or "::" in one.partition("/")[0] for one in words.rest):
        yield RuleHit("network", "git clone ext::")


def _git_remote(words: _Words) -> Iterator[RuleHit]:
    rest = words.rest
    if rest[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"]) and any(
        one.startswith("ext::") for one in rest
    ):
        yield RuleHit("network", "git remote ext::")
    elif rest[:1] in (["set-url"], ["remove"], ["rm"]):
        yield RuleHit("persists", f"git remote {rest[0]}")


def _git_rm(words: _Words) -> Iterator[RuleHit]:
    if "--cached" not in words.rest and words.has("-r"):
        yield RuleHit("destroys", f"git rm {' '.join(words.rest[:2])}")


def _git_branch(words: _Words) -> Iterator[RuleHit]:
    """A name that is given to another branch, whatever it meant before."""
    over = words.has("-M", "-C") or (words.has("-f", "--force") and words.has("-m", "-c", "--move", "--copy"))
    if over and len(words.names) > 1:
        yield RuleHit("destroys", f"git branch {over}", (over,))


def _git_symbolic_ref(words: _Words) -> Iterator[RuleHit]:
    if len(words.names) > 1 or words.has("-d", "--delete"):
        yield RuleHit("destroys", "git symbolic-ref")


def _git_looks_back(words: _Words) -> Iterator[RuleHit]:
    """`git log -p -S AWS_SECRET`: what was taken out of the files is still in the history."""
    sought = next((one for one in words.rest if seeks_secrets(one)), "")
    if sought and (words.has("-p", "-u", "--patch") or any(HOLE in one for one in words.rest)):
        yield RuleHit("credentials", f"git … {sought}")


def _git_unchecked(words: _Words) -> Iterator[RuleHit]:
    """The checks that a project runs before a commit are left out."""
    given = words.has("--no-verify") or ("-n" in words.options and "-n" if words.action == "commit" else "")
    if given:
        yield RuleHit("escalates", f"git {words.action} {given}", (given,))


def runs_hooks(run: Run) -> bool:
    """Whether the hooks of a project are run by what git is told to do."""
    at = action_at("git", run.arguments)
    return at >= 0 and run.values[at] in ("push", "pull", *_CHECKED)


_CHECKED = ("commit", "merge", "rebase", "am", "revert", "cherry-pick")
_GIT_RULES: dict[str, Callable[[_Words], Iterator[RuleHit]]] = {
    "branch": _git_branch,
    "symbolic-ref": _git_symbolic_ref,
    "log": _git_looks_back,
    "grep": _git_looks_back,
    "push": _git_push,
    "fetch": _git_fetch,
    "pull": _git_fetch,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "config": _git_config,
    "clone": _git_clone,
    "init": _git_clone,
    "remote": _git_remote,
    "rm": _git_rm,
    **dict.fromkeys(_CHECKED, _git_unchecked),
}


# ── patches ──
# Patches that a command applies: where their text is known before it runs, the files that they name are what the
# command writes. `git apply <<EOF`, `patch -p1 < fix.diff` and `apply_patch '*** Begin Patch …'` are read alike.
#
# What one command of a line hands to another: through a pipe, a here-document, a substitution or a variable.

_APPLIES = frozenset(("patch", "gpatch", "apply_patch", "applypatch", "git apply", "git am"))
_LOOKS = frozenset(("--stat", "--numstat", "--summary", "--check", "--dry-run", "--show-current-patch", "--help"))
_ENCODED = regex(r"^content-transfer-encoding:\s*(?:base64|quoted-printable)", re.IGNORECASE | re.MULTILINE)
_LARGEST = 1_000_000
_MOST_FILES = 20
_VALUED = "-p -d -i -o -r -F -B -D -V -Y -z -g -C --directory --input --strip --output --exclude --include"


class Patching(NamedTuple):
    """What a command would apply."""

    paths: tuple[str, ...] = ()
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


def read_patches(run: Run, files: list[Word], folders: tuple[str, ...], written: dict[str, str]) -> Patching:
    """The files that the patches of a command name. `files` are those that it reads, from one of the `folders`;
    `written` has the texts that the line itself wrote to files."""

    texts: list[str] = [run.text] if run.text is not None else []
    unknown = len(files) > _MOST_FILES or any(not text.strip(f"{HOLE}\n ") and HOLE in text for text in texts)
    for word in files[:_MOST_FILES]:
        text = read_small(folders, word, written)
        unknown |= text is None
        texts += [text] if text else []
    if run.program in ("apply_patch", "applypatch"):
        texts += run.values
    strip = option_value(run.arguments, "-p", "--strip")
    bare = run.program in ("patch", "gpatch") and strip is None
    deep = bare or (strip is not None and strip.value not in ("0", "1"))
    paths = dict.fromkeys(path for text in texts for path in paths_in_patch(text, endings=deep))
    return Patching(tuple(paths), unknown or any(_ENCODED.search(text) for text in texts))


def patch_folder(run: Run) -> Word | None:
    """The folder that the paths in a patch count from, and with `patch` also that of the patch itself."""
    return option_value(run.arguments, "--directory", *(("-d",) if run.program != "git" else ()))


def patch_files(run: Run) -> list[Word]:
    """The patch files among the words of a command."""
    if run.program == "git":
        at = action_at("git", run.arguments)
        rest = Run("", run.name, run.arguments[at + 1 :], run.folders)
        return rest.operands(_VALUED)
    if run.program in ("patch", "gpatch"):
        given = option_value(run.arguments, "-i", "--input")
        return [given] if given is not None else run.operands(_VALUED)[1:2]
    return []


def is_unseen(run: Run, named: list[Word], command: Simple, commands: list[Simple]) -> bool:
    """Whether a patch is made while the line runs, by anything but git, which has it from the project's own history."""
    made = [word for word in named if not word.known]
    sources = [at for word in made for at in word.inner]
    if any(not word.inner for word in made) and not any(word.glob is not None for word in named):
        return True
    if run.text is None and all(word.value == "-" for word in named):
        inputs = [one.target for one in command.redirects if not one.writes and one.text is None]
        sources += [at for word in inputs for at in word.inner]
        if any(not word.known and not word.inner for word in inputs) and not any(word.glob for word in inputs):
            return True
        sources += command.fed[-1:] if not inputs else ()
    return any(program_of(commands[at]) not in ("git", "cat") for at in sources if commands[at].words)


def fed_files(command: Simple, commands: list[Simple]) -> list[Word]:
    """The files that a command's input comes from: `< x`, `cat x |`."""
    found = [one.target for one in command.redirects if not one.writes and one.text is None and not one.target.inner]
    for source in (commands[at] for at in command.fed):
        if source.words and basename(source.words[0].value) == "cat":
            found += [word for word in source.words[1:] if not word.value.startswith("-")]
            found += [one.target for one in source.redirects if not one.writes and one.text is None]
    return found


def read_small(folders: tuple[str, ...], word: Word, written: dict[str, str]) -> str | None:
    """The text of a file that a command obeys; "" where there is none, None where it is too large to look at."""
    if HOLE in word.value or "\0" in word.value or word.value == "-":
        return ""
    for folder in folders:
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


_RESPELLS = frozenset(("rev", "tr", "sed", "gsed", "base64", "base32", "xxd", "openssl", "uudecode", "awk", "perl"))


def is_respelled(word: Word, commands: list[Simple]) -> bool:
    """Whether a name is one that the line writes in another way: `$(tr X . <<< Xenv)`. What is done to a name that a
    variable holds is everyday, and so are lists that are split."""
    if HOLE not in word.value or not word.inner:
        return False
    last = commands[word.inner[-1]]
    text = input_of(last, commands) if last.words and program_of(last) in _RESPELLS else None
    return text is not None and HOLE not in text and re.fullmatch(r"[^\s,;:]+", text.strip()) is not None


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
    ".env", "secret", "id_rsa", "id_ed25519", "password", "credentials", ".pem", ".netrc", ".npmrc", "kubeconfig",
)  # fmt: skip


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
    telling = [one for one in choices if len(one) > 2 or (len(one) > 1 and one[0] == ".")]
    return next((name for name in _PICKED for one in telling if one in name), "")


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
    if run.program == "git" and any(one.startswith(("--batch", "--stdin")) for one in run.values):
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
