"""Programs that start other programs: what they would start, as words or as code of a shell.

`sudo -u x rm y` starts `rm y`; `sh -c 'rm y'` runs code; `find -exec rm {} +` starts `rm` with words nobody knows yet.
"""

import os
import re
import shlex
from collections.abc import Iterator
from itertools import islice, pairwise
from stat import S_ISREG
from typing import NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.runs import Run, action_at, option_value, part, takes_value
from rightcall.policy.commands.words import HOLE, Word, known_names

_CODE_VARIABLES = regex(
    r"(?:GIT_)?(?:\w*_COMMAND|PAGER|EDITOR|VISUAL|BROWSER|SSH_ASKPASS|ASKPASS|RSYNC_RSH)|\w*PAGER|\w*_EDITOR|GIT_SSH"
    r"|GIT_EXTERNAL_DIFF|CVS_RSH|LESSOPEN|LESSCLOSE|SUDO_EDITOR|FCEDIT|MAKEFLAGS_COMMAND|RUSTC_WRAPPER|\w*_LAUNCHER"
)


class Inner(NamedTuple):
    """What a program starts: words, or code. `more`: further words come from elsewhere (its input, found files)."""

    words: tuple[Word, ...] = ()
    code: Word | None = None
    language: str = "sh"
    more: bool = False
    elsewhere: bool = False
    """On another machine, or in a container."""
    folder: str | None = None
    given: tuple[Word, ...] = ()
    """What code finds in `$0`, `$1` and so on."""


class Prefix(NamedTuple):
    valued: frozenset[str]
    operands: int = 0
    more: bool = False
    elsewhere: bool = False


def prefix(valued: str = "", operands: int = 0, *, more: bool = False, elsewhere: bool = False) -> Prefix:
    return Prefix(frozenset(valued.split()), operands, more, elsewhere)


VALUED_BY_CONTAINERS = (
    "-e -u -w -v -p -l -m -h -c -a --env --user --workdir --env-file --name --volume --publish --network --net --mount "
    "--entrypoint --platform --label --memory --cpus --hostname --add-host --restart --log-driver --gpus --ip --expose "
    "--tmpfs --shm-size --ulimit --device --cap-add --cap-drop --security-opt --pull --pid --ipc --userns "
    "--detach-keys "
    "--dns --link --log-opt --runtime --stop-signal --sysctl --volumes-from --cidfile --group-add --index"
)
PREFIXES: dict[str, Prefix] = {
    "sudo": prefix("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot --role --type"),
    "doas": prefix("-u -C"),
    "pkexec": prefix("--user"),
    "env": prefix("-u -C -S --unset --chdir --split-string"),
    "nice": prefix("-n --adjustment"),
    "ionice": prefix("-c -n --class --classdata"),
    "nohup": prefix(),
    "time": prefix("-f -o --format --output"),
    "gtime": prefix("-f -o --format --output"),
    "timeout": prefix("-s -k --signal --kill-after", 1),
    "gtimeout": prefix("-s -k --signal --kill-after", 1),
    "stdbuf": prefix("-i -o -e --input --output --error"),
    "setsid": prefix(),
    "setarch": prefix("", 1),
    "chrt": prefix("", 1),
    "taskset": prefix("", 1),
    "cpulimit": prefix("-l -p -e"),
    "unbuffer": prefix(),
    "strace": prefix("-e -o -p -s -E -u -a -S -O -P -b -X -I"),
    "ltrace": prefix("-e -o -p -s -u -a -n"),
    "valgrind": prefix(),
    "chroot": prefix("--userspec --groups", 1),
    "unshare": prefix("-S -G -R -w"),
    "nsenter": prefix("-t -S -G --target"),
    "firejail": prefix(),
    "xvfb-run": prefix("-s -n -e -f -p -w"),
    "dbus-run-session": prefix("--config-file"),
    "caffeinate": prefix("-t -w"),
    "command": prefix(),
    "builtin": prefix(),
    "exec": prefix("-a"),
    "nocorrect": prefix(),
    "noglob": prefix(),
    "coproc": prefix(),
    "xargs": prefix("-I -n -P -L -d -s -E -a --max-args --max-procs --delimiter --arg-file --replace --max-lines",
                     more=True),
    "gxargs": prefix("-I -n -P -L -d -s -E -a", more=True),
    "parallel": prefix("-j -I -N -a -S -n -L --jobs --colsep --joblog --delay --timeout --retries", more=True),
    "entr": prefix(),
    "systemd-run": prefix("-p -u -E -M -H --unit --property --setenv --slice --uid --gid --description"),
    "busybox": prefix(),
    "toybox": prefix(),
    "npx": prefix("-p --package -w --workspace"),
    "bunx": prefix("-p --package"),
    "pnpx": prefix("-p --package"),
    "uvx": prefix("--from --with -p --python --index-url --with-requirements"),
    "dotenv": prefix("-f -e -c -v"),
    "dotenvx": prefix("-f -e"),
    "cross-env": prefix(),
    "env-cmd": prefix("-f -e -r --file --environments --rc-file"),
    "nodemon": prefix("-w -e --watch --ext --exec -x --ignore -i --delay"),
    "winpty": prefix(),
    "catchsegv": prefix(),
    "torify": prefix(),
    "proxychains": prefix("-f"),
    "proxychains4": prefix("-f"),
    "sshpass": prefix("-p -f -d -P"),
    "watchexec": prefix("-e -w -i -f --exts --watch --ignore --filter"),
    "hyperfine": prefix("-r -w -m -M -n -s --runs --warmup --prepare --export-markdown --export-json"),
}  # fmt: skip
RUNNERS: dict[tuple[str, str], Prefix] = {
    ("ip", "netns"): prefix("", 2),
    ("poetry", "run"): prefix(),
    ("pipenv", "run"): prefix(),
    ("pdm", "run"): prefix("-p"),
    ("rye", "run"): prefix(),
    ("hatch", "run"): prefix(),
    ("pixi", "run"): prefix("-e --environment"),
    ("uv", "run"): prefix("--with --extra --group --env-file --python -p --directory --project --with-editable "
                           "--with-requirements --only-group --no-group --package --index-url --no-extra"),
    ("pipx", "run"): prefix("--spec --python --pip-args --index-url --with"),
    ("conda", "run"): prefix("-n -p --name --prefix --cwd"),
    ("mamba", "run"): prefix("-n -p"),
    ("micromamba", "run"): prefix("-n -p"),
    ("bundle", "exec"): prefix(),
    ("rbenv", "exec"): prefix(),
    ("pyenv", "exec"): prefix(),
    ("asdf", "exec"): prefix(),
    ("nvm", "exec"): prefix("", 1),
    ("fnm", "exec"): prefix("--using --fnm-dir --node-dist-mirror"),
    ("direnv", "exec"): prefix("", 1),
    ("mise", "exec"): prefix(),
    ("mise", "x"): prefix(),
    ("npm", "exec"): prefix("-p --package -w --workspace"),
    ("npm", "x"): prefix("-p --package"),
    ("pnpm", "exec"): prefix(),
    ("pnpm", "dlx"): prefix("--package"),
    ("yarn", "exec"): prefix(),
    ("yarn", "dlx"): prefix("-p --package"),
    ("bun", "x"): prefix("-p --package"),
    ("op", "run"): prefix("--env-file --account"),
    ("doppler", "run"): prefix("-p -c --project --config --token"),
    ("infisical", "run"): prefix("--env --path --projectId"),
    ("aws-vault", "exec"): prefix("-d --duration --region", 1),
    ("chamber", "exec"): prefix("", 1),
    ("foreman", "run"): prefix("-e -f -p"),
    ("heroku", "run"): prefix("-a --app -r --remote -s --size", elsewhere=True),
    ("fly", "ssh"): prefix("-a --app -C", 1, elsewhere=True),
    ("docker", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("docker", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("podman", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("podman", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("nerdctl", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("nerdctl", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("docker-compose", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("docker-compose", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("lxc", "exec"): prefix("--env --user --group --cwd", 1, elsewhere=True),
    ("git", "bisect run"): prefix(),
    ("perf", "stat"): prefix("-e -o -r"),
    ("perf", "record"): prefix("-e -o -F -g"),
    ("coverage", "run"): prefix("-m --source --rcfile --omit"),
}  # fmt: skip


def behind(program: str, arguments: list[Word], how: Prefix) -> Iterator[Inner]:
    """The command behind a wrapper's own options, operands and assignments."""
    left = how.operands
    folder: str | None = None
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        if value == "--":
            at += 1
            if left == 0:
                break
            continue
        if value == "-" and program in ("env", "sudo"):
            at += 1
            continue
        if value.startswith("-") and len(value) > 1:
            taken = takes_value(value, how.valued)
            if value in ("-C", "-D", "--chdir", "--cwd", "--directory") and at + 1 < len(arguments):
                folder = arguments[at + 1].value
            at += 1 + taken
            continue
        if program in ("env", "sudo", "cross-env", "doas") and re.match(r"[A-Za-z_]\w*=", value):
            yield from assigned_code(value.partition("=")[0], Word(value.partition("=")[2]))
            at += 1
            continue
        if left:
            left -= 1
            at += 1
            continue
        break
    rest = tuple(arguments[at:])
    if rest and not (program == "command" and any(one.value in ("-v", "-V") for one in arguments[:at])):
        if program == "parallel":
            rest = tuple(word for word in rest if word.value not in (":::", "::::"))
        if program in ("npx", "npm", "uvx", "pipx", "bunx", "pnpx", "pnpm", "yarn"):
            first = re.sub(r"(?<=.)@[^/]*$", "", rest[0].value)  # `npx eslint@8`
            rest = (Word(first), *rest[1:])
        if program == "uv" and (rest[0].value == "-" or rest[0].value.endswith(".py")):
            yield Inner((Word("python"), *rest), folder=folder)
        yield Inner(rest, more=how.more, elsewhere=how.elsewhere, folder=folder)


def assigned_code(name: str, value: Word) -> Iterator[Inner]:
    """Variables that some program runs."""
    if _CODE_VARIABLES.fullmatch(name) and value.value:
        if name in ("GIT_SSH", "GIT_EXTERNAL_DIFF", "SSH_ASKPASS", "GIT_ASKPASS"):
            value = hidden(value)
        yield Inner(code=Word(value.value.lstrip("|-"), None, True, value.names, value.inner))


def shell_code(arguments: list[Word]) -> Word | None:
    """What a shell is told by `-c`, also in a bundle (`-lc`)."""
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        if value in ("--rcfile", "--init-file"):
            at += 2
            continue
        if value.startswith("--command"):  # of fish
            return part(arguments[at], 10) if "=" in value else next(iter(arguments[at + 1 :]), None)
        if not value.startswith(("-", "+")) or value in ("-", "--"):
            return None
        taken = 0 if value.startswith("--") else value.count("o") + value.count("O")
        if value.startswith("-") and not value.startswith("--") and "c" in value[1:]:
            following = [one for one in arguments[at + 1 :] if not re.fullmatch(r"[-+][a-zA-Z]+|--", one.value)]
            return following[taken] if len(following) > taken else None
        at += 1 + taken  # `-euo pipefail`
    return None


def hidden(word: Word) -> Word:
    """A program in the place of another: which it is can be told of the system's own only."""
    plain = "/" not in word.value or " " in word.value or word.value.startswith(("/bin/", "/usr/bin/"))
    return word if plain else Word(HOLE)


# ── aliases of git ──
# Aliases of git: what `git foo` starts, as the settings of the repository and of the user say.
#
# git itself is not asked: the files are read as they are, each up to a size. A name that git knows is never an alias.

_LARGEST = 200_000
_MOST_FILES = 20
_MOST_FOLDERS = 40
_SECTION = regex(r'\s*\[\s*([\w.-]+)\s*(?:"((?:\\.|[^"\\])*)")?\s*\]')
_SETTING = regex(r"\s*([A-Za-z][\w-]*)\s*(?:=(.*))?", re.DOTALL)


def aliased(run: Run, folders: tuple[str, ...], home: str) -> Iterator[Inner]:
    """What a command of git starts that git does not know, from the folders that it may work in."""
    at = action_at("git", run.arguments)
    name = run.arguments[at].value if at >= 0 else ""
    if not name or name in known_names("git") or not re.fullmatch(r"[\w.-]+", name):
        return
    rest = run.arguments[at + 1 :]
    given = option_value(run.arguments[:at], "--git-dir")
    places = [os.path.join(folder, given.value) for folder in folders] if given is not None else folders
    for value in dict.fromkeys(_values(name.casefold(), _files(places, home))):
        if value.startswith("!"):
            code = f'{value[1:]} "$@"' if rest else value[1:]
            yield Inner(code=Word(code, None, True), given=(Word("git"), *rest))
        else:
            yield Inner((Word("git"), *map(Word, _split(value)), *rest))


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


def _values(name: str, files: Iterator[str]) -> Iterator[str]:
    """All that files say of an alias, also in those that they include: which one counts is for git to say."""
    todo, seen = list(files), set[str]()
    while todo and len(seen) < _MOST_FILES:
        file = todo.pop(0)
        if file in seen:
            continue
        seen.add(file)
        for section, below, key, value in _settings(_text(file)):
            if section in ("include", "includeif") and key == "path":
                todo.append(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
            elif (section, below, key) in (("alias", "", name), ("alias", name, "command")):
                yield value


def _files(folders: list[str] | tuple[str, ...], home: str) -> Iterator[str]:
    """The settings of the repositories that folders are in, and of the user."""
    for folder in dict.fromkeys(folders):
        found = next(filter(None, map(_repository, islice(_above(folder), _MOST_FOLDERS))), None)
        if found is not None:
            yield os.path.join(found, "config")
            yield os.path.join(found, "config.worktree")
            common = _text(os.path.join(found, "commondir")).strip()
            if common:
                yield os.path.join(found, common, "config")
    yield from (os.path.join(home, ".gitconfig"), os.path.join(home, ".config", "git", "config"), "/etc/gitconfig")


def _above(folder: str) -> Iterator[str]:
    """A folder, and those that it is in."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _repository(folder: str) -> str | None:
    """The folder with the settings of a repository that begins here; a file `.git` says where that is."""
    inside = os.path.join(folder, ".git")
    if os.path.isdir(inside):
        return inside
    told = re.match(r"gitdir:\s*(.+)", _text(inside))
    if told is not None:
        return os.path.join(folder, told[1].strip())
    return folder if os.path.isfile(os.path.join(folder, "HEAD")) else None


def _text(file: str) -> str:
    try:
        if not S_ISREG(os.stat(file).st_mode):
            return ""
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read(_LARGEST)
    except (OSError, ValueError):
        return ""


def _settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Section, its part, key and value of each setting; names without their case."""
    section, part = "", ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        begun = _SECTION.match(line)
        if begun is not None:
            section, part = begun[1].casefold(), (begun[2] or "").casefold()
            line = line[begun.end() :]
        setting = _SETTING.match(line)
        if setting is not None:
            yield section, part, setting[1].casefold(), _unquoted(setting[2] or "")


def _unquoted(value: str) -> str:
    """A value without its quotes, its escapes and the remark behind it."""
    found: list[str] = []
    quoted = escaped = False
    for sign in value.strip():
        if escaped:
            found.append({"n": "\n", "t": "\t"}.get(sign, sign))
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            found.append(sign)
    return "".join(found).rstrip()


# ── editors ──
# What the editors `ed`, `ex` and `vim` are told to do, by an option or through their input: files that they read and
# write, and programs that they start. Their own language is followed as far as such commands need it.

LINE_EDITORS = frozenset(("ed", "red"))
EDITORS = frozenset(("ex", "vi", "vim", "nvim", "view", "gvim", "vimdiff", "rvim", "gvimdiff", *LINE_EDITORS))
_LONGEST = 100_000
_RANGE = regex(r"(?::|\s|[%.$*,;+-]|\d+|'\S|/(?:[^/\\]|\\.){0,300}/|\?(?:[^?\\]|\\.){0,300}\?)*", re.DOTALL)
_NAME = regex(r"([A-Za-z]+)(!?)[ \t]*")
_READS = regex(r"r(?:ead?)?|re")
_WRITES = regex(
    r"w|wr(?:i(?:te?)?)?|wq|x|xit?|exi(?:t)?|up(?:d(?:a(?:te?)?)?)?|sav(?:e(?:as?)?)?|wn(?:e(?:xt?)?)?|wa(?:ll?)?|wqa(?:ll?)?"
    r"|xa(?:ll?)?|mks(?:ession)?|mkv(?:imrc)?|mk(?:exrc)?|wu(?:ndo)?|wv(?:iminfo)?|redir?|ha(?:rdcopy)?"
)
_OPENS = regex(
    r"e|edit?|enew?|ex|f|file?|vi(?:s(?:u(?:al?)?)?)?|vie(?:w)?|sv(?:iew)?|new|vne(?:w)?|sp(?:l(?:it?)?)?|vs(?:p(?:l(?:it?)?)?)?"
    r"|tabe(?:d(?:it?)?)?|tabnew|tabf(?:ind)?|n(?:e(?:xt?)?)?|ar(?:gs?)?|arge(?:dit)?|arga(?:dd)?|bad(?:d)?|fin(?:d)?"
    r"|sf(?:ind)?|ped(?:it)?|diffs(?:plit)?|diffp(?:atch)?|dr(?:op)?"
)
_TYPES = regex(r"a(?:p(?:p(?:e(?:nd?)?)?)?)?|i(?:n(?:s(?:e(?:rt?)?)?)?)?|c(?:h(?:a(?:n(?:ge?)?)?)?)?")
"""What follows it is text, up to a line with a dot."""
_BEFORE = regex(
    r"sil(?:ent)?|noa(?:utocmd)?|nos(?:wapfile)?|kee\w*|lockmarks|verb(?:ose)?|conf(?:irm)?|hid(?:e)?|tab|vert(?:ical)?"
    r"|(?:buf|win|tab|arg|c|cf|l|lf)do|uns(?:ilent)?|sandbox|exe(?:c(?:u(?:te?)?)?)?"
)
"""What stands before another command."""
_HIDES = regex(
    r"so(?:u(?:r(?:ce?)?)?)?|ru(?:n(?:time)?)?|lua\w*|py\w*|perl?\w*|rub\w*|tcl\w*|mz\w*|te(?:rm\w*)?|sh(?:e(?:ll?)?)?"
    r"|mak(?:e)?|gr(?:ep?)?|cs(?:cope)?|packadd|ter(?:minal)?"
)
_CALLS = regex(
    r"\b(?:system(?:list)?|term_start|termopen|job_?start|writefile|readfile|readblob|delete|rename|luaeval|py\w*eval)\("
)
_ENDS = regex(r"(?:^|[|:\s])(?:x|wq|q|cq|qa|wqa|xa|xit|quit|qall|wqall|xall)!?\s*(?:$|\|)")


class EditorCommands(NamedTuple):
    """What commands would do."""

    codes: tuple[str, ...] = ()
    """Of a shell."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unknown: bool = False
    """Something that nobody can tell beforehand."""


def read_editor(text: str, *, by_line: bool = False) -> EditorCommands:
    """What an editor is told; `by_line`: by the letters of `ed`.

    >>> read_editor("1,3w! notes.txt\\n%!sort | uniq\\nq")
    EditorCommands(codes=('sort | uniq',), reads=(), writes=('notes.txt',), unknown=False)
    """
    if len(text) > _LONGEST:
        return EditorCommands(unknown=True)
    reader = _Reader(by_line)
    for line in text.splitlines():
        reader.line(line)
    return EditorCommands(tuple(reader.codes), tuple(reader.reads), tuple(reader.writes), reader.unknown)


def command_texts(arguments: list[Word]) -> list[str]:
    """The commands among the words of an editor: `-c`, `--cmd`, `+`."""
    told = [word.value[1:] for word in arguments if word.value.startswith("+")]
    told += [word.value[2:] for word in arguments if re.match(r"-c[^-]", word.value)]
    for before, word in pairwise(arguments):
        if before.value == "--cmd" or re.fullmatch(r"-[a-zA-Z]*c", before.value):
            told.append(word.value)
    return told


def obeys_input(program: str, arguments: list[Word]) -> bool:
    """Whether an editor takes commands from its input, and not only text."""
    if any(_ENDS.search(one) for one in command_texts(arguments)):
        return False  # it has ended before
    return program in ("ex", *LINE_EDITORS) or any(
        re.fullmatch(r"-[A-Zabd-z]*[eE][A-Za-z]*", one.value) for one in arguments
    )


class _Reader:
    def __init__(self, by_line: bool) -> None:
        self.by_line = by_line
        self.codes: list[str] = []
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.opened: list[str] = []
        """What a command that writes without a name writes to, besides what the editor was started with."""
        self.unknown = False
        self.types = False

    def line(self, line: str) -> None:
        if self.types:
            self.types = line.strip() != "."
            return
        todo, depth = line, 0
        while todo.strip() and depth < 100:
            todo, depth = self._command(todo), depth + 1

    def _command(self, text: str) -> str:
        """One command; what is left behind it comes back."""
        ranged = _RANGE.match(text)
        text = text[ranged.end() :] if ranged is not None else text
        if text.startswith("!"):
            self.codes.append(text[1:].lstrip("!"))
            return ""
        named = re.match(r"([A-Za-z])(!?)[ \t]*", text) if self.by_line else _NAME.match(text)
        if named is None:
            return ""
        name, rest = named[1], text[named.end() :]
        if name in ("g", "v", "global", "vglobal", "G", "V"):
            return _behind(rest, 1)
        if not self.by_line and _BEFORE.fullmatch(name):
            return re.sub(r"['\"]", "", rest) if name.startswith("exe") else rest
        if name[0] in "s&~" and rest[:1] and not rest[0].isalnum() and rest[0] not in '|" ':
            return _behind(rest, 2).partition("|")[2]
        if _TYPES.fullmatch(name):
            self.types = "|" not in rest
            return ""
        return self._take_command(name, named[2], rest)

    def _take_command(self, name: str, bang: str, rest: str) -> str:
        if _CALLS.search(rest) or (not self.by_line and _HIDES.fullmatch(name)):
            self.unknown = True
            return ""
        if not self.by_line and name.startswith("norm"):
            self.unknown |= ":" in rest or "!" in rest
            return ""
        reads, writes = _READS.fullmatch(name), _WRITES.fullmatch(name) or name == "W"
        if (reads or writes or _OPENS.fullmatch(name)) and (rest.startswith("!") or (bang and rest and self.by_line)):
            self.codes.append(rest.lstrip("!"))
            return ""
        file, bar, left = (rest, "", "") if self.by_line else rest.partition("|")
        files = list(_named_files(file))
        self.unknown |= "`" in file
        if reads:
            self.reads += files
        elif writes:
            self.writes += files or self.opened
        elif _OPENS.fullmatch(name) or name == "E":
            self.reads += files
            self.opened += files
        return left if bar else ""


def _behind(rest: str, count: int) -> str:
    """What stands behind texts between signs: `/pattern/replacement/flags`."""
    sign, at = rest[:1], 1
    while count and at < len(rest):
        count -= rest[at] == sign
        at += 2 if rest[at] == "\\" else 1
    return rest[at:]


def _named_files(text: str) -> Iterator[str]:
    """The names of files behind a command, with a variable as text that nobody knows."""
    for word in re.sub(r"^\s*(?:>>?|=>)\s*", "", text).replace("\\ ", "\ue001").split():
        if not word.startswith("++"):
            yield re.sub(r"\$\w+|\$\{\w+\}", HOLE, word.replace("\ue001", " ").replace("\\", ""))
