"""Commands that enumerate files, and what happens where all that they name is printed: `ls -A | xargs cat`,
`tar cf - . | base64`, `rg -uu ''`. A name that is looked for counts as if it were written; of everything in a folder,
what is really there counts. It is looked at briefly: some hundred names, the upper folders."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rightcall.base.files.rules import component, is_source
from rightcall.base.text import regex
from rightcall.policy.commands.inline import codes
from rightcall.policy.commands.outputs import writes_to
from rightcall.policy.commands.paths import is_plain, is_text_only, search_starts, searched_for
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import RuleHit, Run, is_meant, option_value
from rightcall.policy.commands.shell import Redirect, Simple, printed
from rightcall.policy.commands.words import HOLE, Word, basename

FINDERS = frozenset(("find", "gfind", "fd", "fdfind"))
_LOCATES = frozenset(("locate", "plocate", "mlocate", "mdfind"))
PRINTERS = frozenset(
    ("cat", "tac", "head", "tail", "bat", "batcat", "nl", "less", "more", "base64", "base32", "xxd", "od", "hexdump",
     "hd", "strings", "rev", "fold", "column", "cut", "sort", "paste", "pr", "expand", "fmt", "awk", "gawk", "sed",
     "gsed", "zcat", "openssl", "jq", "yq")
)  # fmt: skip
"""What they are given they print, or a part of it."""
WHOLE_FOLDERS = frozenset(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "git", "diff", "colordiff", "tar", "bsdtar",
     "gtar", "zip")
)  # fmt: skip
"""They may print whole folders by themselves."""
_NARROWS = frozenset(("grep", "egrep", "rg", "awk", "gawk", "sed", "fzf"))
_MOST_NAMES = 600
_DEEPEST = 3
_PASSED_OVER = frozenset((".git", "node_modules", ".hg", ".svn", ".venv", "venv", "__pycache__", ".tox", ".cache"))
_ONLY_A_FORM = regex(r"example|sample|template|dist|fixture|test|mock|fake|dummy", re.IGNORECASE)
_ALL = regex(r"\^?(?:\(?(?:\.|\\[SswWdD]|\[[^\]]*\])?[*+?]?\)?|\.\*\??)\$?")
"""A pattern that every line fits, or nearly every."""


class Listing(NamedTuple):
    """The files that a command names."""

    starts: tuple[str, ...] = (".",)
    depth: int = 1
    hidden: bool = True
    fits: str = ""
    """A regular expression that their names must have in them."""


def listing_of(program: str, values: Sequence[str]) -> Listing | None:
    """What a command enumerates; None for one that does not, or that names what it looks for and is judged by that."""
    if program in ("find", "gfind"):
        return _found(values)
    if program in ("fd", "fdfind"):
        return _found_by_fd(values)
    if program in ("ls", "gls", "eza", "exa", "dir"):
        letters = "".join(one[1:] for one in values if re.fullmatch(r"-[a-zA-Z0-9]+", one))
        if "d" in letters:
            return None
        starts = tuple(one for one in values if one[:1] != "-") or (".",)
        hidden = not {"a", "A", "f"}.isdisjoint(letters) or not {"--all", "--almost-all"}.isdisjoint(values)
        return Listing(starts, _DEEPEST if "R" in letters else 1, hidden)
    if program == "git" and "ls-files" in values[:3]:
        others = any(re.fullmatch(r"-[a-z]*o[a-z]*|--others", one) for one in values)
        narrowed = any(one.startswith("--exclude-s") or "*" in one for one in values)
        return Listing(depth=_DEEPEST) if others and not narrowed else None
    if program == "rg" and "--files" in values:
        return Listing(depth=_DEEPEST) if _sees_hidden(values) and not _is_narrowed_search(values) else None
    return None


def _found(values: Sequence[str]) -> Listing | None:
    if any(searched_for(list(values))):
        return None  # `found_words` has the names
    pairs = list(zip(values, (*values[1:], ""), strict=True))
    if any(one == "-type" and "f" not in kind for one, kind in pairs):
        return None
    left_out = [name for one, name in pairs if one in ("-path", "-name", "-wholename")]
    depth = next((int(given) for one, given in pairs if one == "-maxdepth" and given.isdigit()), _DEEPEST)
    starts = values[search_starts(values)]
    hidden = not any(one in (".*", "*/.*", "./.*", "*/.*/*") for one in left_out)
    return Listing(tuple(starts) or (".",), min(depth, _DEEPEST), hidden)


def _found_by_fd(values: Sequence[str]) -> Listing | None:
    end = next((at for at, one in enumerate(values) if one in ("-x", "-X", "--exec", "--exec-batch")), len(values))
    run = _run("fd", values[:end])
    kind = run.option("-t", "--type")
    if kind is not None and not kind.value.startswith(("f", "e")):
        return None
    operands = [word.value for word in run.operands("-t --type -e --extension -d --max-depth -E --exclude -g --glob")]
    globbed = option_value(run.arguments, "-g", "--glob")
    pattern = operands[0] if operands and operands[0] not in (".", "") else ""
    if globbed is not None:
        pattern = re.escape(globbed.value).replace(r"\*", ".*").replace(r"\?", ".")
    ending = run.option("-e", "--extension")
    fits = rf"\.{re.escape(ending.value)}$" if ending is not None else pattern
    return Listing(tuple(operands[1:]) or (".",), _DEEPEST, _sees_hidden(values) or bool(fits), fits)


def _run(program: str, values: Sequence[str]) -> Run:
    return Run(program, Word(program), [Word(one) for one in values], (), values=list(values))


def named_by(program: str, values: Sequence[str]) -> list[Word]:
    """The protected names that a command looks for by a part of them: `fd .env`, `locate id_rsa`."""
    if program in _LOCATES:
        sought = [one for one in values if one[:1] != "-"]
    elif program in ("fd", "fdfind"):
        listing = _found_by_fd(values)
        ending = option_value([Word(one) for one in values], "-e", "--extension")
        sought = [listing.fits if listing is not None else "", f"x.{ending.value}" if ending is not None else ""]
    else:
        return []
    plain = (re.sub(r"[\\^$*()?\[\]+]", "", one) for one in sought)
    return [Word(one) for one in plain if one and not is_plain(one)]


_SIMPLE = regex(r"\^?(?:[\w. @%+=:,~-]|\\[.\-])+\$?")
"""Expressions without repetitions and choices."""


def secret_in(listing: Listing, folders: Sequence[str], place: Place) -> str:
    """The first name of something secret that a listing has in it, as far as that can be seen; "" for none."""
    simple = listing.fits and _SIMPLE.fullmatch(listing.fits)  # another could run for ever: it may find any name
    fits = re.compile(listing.fits, re.IGNORECASE) if simple else None
    left = _MOST_NAMES
    for folder in folders:
        todo = [(place.whole(folder, start), 1) for start in listing.starts if HOLE not in start]
        while todo and left > 0:
            path, depth = todo.pop(0)
            for one in _entries(path):
                left -= 1
                if one.name.startswith(".") and not listing.hidden:
                    continue
                if _is_secret(one.name) and (fits is None or fits.search(one.name)):
                    return one.name
                if depth < listing.depth and one.name not in _PASSED_OVER and _is_folder(one):
                    todo.append((one.path, depth + 1))
    return ""


def _is_secret(name: str) -> bool:
    return component(name).secret and not _ONLY_A_FORM.search(name)


def _entries(path: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(path) as found:
            return [one for one, _ in zip(found, range(_MOST_NAMES), strict=False)]
    except (OSError, ValueError):
        return []


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def sources_of(found: Sequence[Simple], commands: list[Simple]) -> list[Simple]:
    """The commands that names come from, through what passes all of them on; nothing where they are narrowed."""
    chain = [one for source in found for one in (source, *(commands[at] for at in source.fed if at < len(commands)))]
    for one in chain:
        values = [word.value for word in one.words]
        narrows = bool(values) and basename(values[0]) in _NARROWS and "--files" not in values
        if narrows and not any(re.fullmatch(r"-[a-zA-Z]*v[a-zA-Z]*|--invert-match", value) for value in values[1:]):
            return []
    return chain


def prints_all(run: Run) -> bool:
    """Whether a program prints the files that it is handed."""
    if run.program in PRINTERS:
        silent = run.program in ("sed", "gsed") and run.has("-i", "--in-place")
        return not silent
    if "grep" in run.program or run.program in ("rg", "ag", "ack"):
        return fits_all(run) and not run.has("-l", "-c", "-q", "-L", "--count", "--files-with-matches", "--quiet")
    code = " ".join(run.values) if run.program in ("sh", "bash", "zsh", "dash") else ""
    return bool(code) and any(one in PRINTERS for one in re.findall(r"[a-z0-9]+", code[:2000]))


# ── searches and comparisons of whole folders ──

_LOOKS_ONLY = ("-l", "-c", "-q", "-L", "--count", "--files-with-matches", "--files-without-match", "--quiet", "--files")


def fits_all(run: Run) -> bool:
    """Whether a search is for every line."""
    given = [word.value for word in _patterns(run)]
    return any(_ALL.fullmatch(one) for one in given)


def _patterns(run: Run) -> list[Word]:
    told = run.option("-e", "--regexp")
    return [told] if told is not None else run.operands(_SEARCH_VALUED)[:1]


_SEARCH_VALUED = "-e -f -A -B -C -m --regexp --file --max-depth --context"


def _sees_hidden(values: Sequence[str]) -> bool:
    return any(
        one in ("-H", "-.", "-u", "-uu", "-uuu", "--unrestricted", "--nofilter", "--no-ignore-dot")
        or is_meant("--hidden", one)
        for one in values
    )


def _is_narrowed_search(values: Sequence[str]) -> bool:
    return any(one in ("-g", "--glob", "--iglob", "-t", "--type") or one.startswith(("--glob=", "-g", "-t", "--type="))
               for one in values)  # fmt: skip


def searched_whole(run: Run) -> Listing | None:
    """The folders of which a search prints every line, hidden files included."""
    values = run.values
    grep = "grep" in run.program and run.program != "git"
    if run.program == "git":
        if values[:1] != ["grep"] or {"--no-index", "--untracked"}.isdisjoint(values):
            return None
        run = Run("grep", run.name, run.arguments[1:], run.folders, values=values[1:])
    elif not (run.has("-r", "-R", "--recursive", "--dereference-recursive") if grep else _sees_hidden(values)):
        return None
    chosen = option_value(run.arguments, "--include")
    narrowed = chosen is not None and chosen.value not in ("*", "**", "*.*", ".*")
    if narrowed or (not grep and _is_narrowed_search(values)) or run.fed or not fits_all(run) or run.has(*_LOOKS_ONLY):
        return None
    operands = [word.value for word in run.operands(_SEARCH_VALUED)]
    places = operands if run.option("-e", "--regexp") is not None else operands[1:]
    return Listing(tuple(places) or (".",), _DEEPEST)


def compared_whole(run: Run) -> Listing | None:
    """Folders that are compared with all that is in them: `diff -r . /tmp/x`, `git diff --no-index /tmp/x .`."""
    if run.program == "git":
        if "diff" not in run.values[:2] or "--no-index" not in run.values or run.has("--stat", "--name-only", "-q"):
            return None
    elif not run.has("-r", "--recursive") or run.has("-q", "--brief"):
        return None
    operands = [word.value for word in run.operands("-x -X -I --exclude --exclude-from -U -C")]
    return Listing(tuple(one for one in operands if one != "diff"), _DEEPEST)


def packed_whole(run: Run, after: Sequence[str]) -> Listing | None:
    """Folders that are packed onto the output, where that is only shown: `tar cf - . | base64`."""
    shown = all(one in PRINTERS or one in ("gzip", "zstd", "xz", "bzip2") for one in after)
    if not shown or (after and after[-1] in ("gzip", "zstd", "xz", "bzip2")):
        return None
    if run.program == "zip":
        operands = [word.value for word in run.operands("-x -i")]
        return Listing(tuple(operands[1:]), _DEEPEST) if operands[:1] == ["-"] else None
    file = run.option("-f", "--file")
    packs = run.has("-c", "--create") or bool(run.values and re.fullmatch(r"[a-z]*c[a-zO]*", run.values[0]))
    if not packs or (file is not None and file.value != "-"):
        return None
    operands = [word.value for word in run.operands("-f -C -T -X --file --exclude")]
    if run.values and run.values[0][:1].isalpha():
        operands = operands[1:]
    return Listing(tuple(one for one in operands if one != "-"), _DEEPEST)


# ── code ──

_ENUMERATES = regex(
    r"(?:\blistdir|\bscandir|\biterdir|\bwalk|\breaddir\w*|Dir\.(?:entries|children|each_child)|\bopendir)\s*\(\s*"
    r"(?:['\"]([^'\"]*)['\"])?|\b(?:i?r?glob|Dir\.glob|Dir)\s*[(\[]\s*['\"](\.?\*+|\.\*|\*\*/\*|\{?\.?,?\.?\*\}?)['\"]"
)
_READS = regex(r"\bopen\(|read_text|read_bytes|readFile\w*\(|File\.(?:read|open|readlines)|IO\.read|fileinput")
_PRINTS = regex(r"\bprint|stdout|console\.log|\bputs\b|\bp\s")
_NARROWED = regex(
    r"ends[wW]ith|\.suffix|fnmatch|splitext|extname|end_with|\.match\(|\.test\(|\bre\."
    r"|(?:\bnot\s+|!\s*)[\w.\[\]]{1,60}\.(?:startswith|startsWith|start_with\?)\s*\(\s*['\"]\."
)

_BEGINS = regex(r"\.(?:startswith|startsWith|start_with\?)\s*\(\s*['\"](\.[^'\"]{0,50})['\"]")


def enumerated_in_code(code: str) -> Listing | None:
    """The folder of which code prints every file: `for f in os.listdir('.'): print(open(f).read())`."""
    found = _ENUMERATES.search(code) if len(code) < 20_000 else None
    if found is None or not _READS.search(code) or not _PRINTS.search(code) or _NARROWED.search(code):
        return None
    begun = _BEGINS.search(code)
    fits = f"^{re.escape(begun[1])}" if begun is not None else ""
    return Listing((found[1] or ".",), _DEEPEST if re.search(r"walk|rglob|\*\*", code) else 1, fits=fits)


# ── emptied ──
# Files that a command leaves empty: what is written into them is nothing, or what stood there is not written again.
#
# `: > f`, `tee f < /dev/null`, `rsync /dev/null f`, `gawk -i inplace '{}' f` and `open('f', 'w')` are one thing.

_NOTHING = "/dev/null"
_SILENT = frozenset((":", "true", "false"))
_COPIES = frozenset(("cat", "tac", "head", "tail", "sort", "uniq", "tee", "sponge", "nl", "rev", "dd"))
"""What they print is what they read."""
_NO_LINES = regex(r"-[cn]0|--(?:bytes|lines)=0")
_SILENT_AWK = regex(r"\s*(?:(?:BEGIN|END)?\s*\{(?:(?!print|getline)[^{}])*\}\s*|0\s*)*")
_OPENS = regex(
    r"\bopen\w*\(|\.open\(|fopen\(|write_text\(|write_bytes\(|writeFile\w*\(|File\.(?:write|open)\(|truncate"
)
_PUTS = regex(
    r"(?<!File)\.write(?:lines|_text|_bytes)?\((?!\s*b?(['\"])\1\s*\))|\bdump\w*\(|\bprint\w*\W|\bputs\b|<<"
    r"|writeFile\w*\([^,]+,(?!\s*(['\"`])\2\s*[,)])|File\.write\([^,]+,(?!\s*(['\"])\3\s*\))|fwrite|fputs"
    r"|savefig|to_\w+\(|copyfileobj|extract|download|retrieve|serialize|save\w*\("
)
"""Something is put into a file, and not an empty text."""


def prints_nothing(command: Simple, commands: list[Simple]) -> bool:
    """Whether what a command prints is known to be nothing."""
    if not command.words:
        return True
    program, *values = [word.value for word in command.words]
    if program in _SILENT:
        return True
    if program in ("echo", "printf"):
        return printed(command, {}) == ""
    if basename(program) not in _COPIES:
        return False
    if program in ("head", "tail") and _is_cut_to_nothing(values):
        return True
    files = [one for one in values if not one.startswith("-")] if program not in ("tee", "sponge") else []
    return all(one == _NOTHING for one in files) if files else reads_nothing(command, commands)


def _is_cut_to_nothing(values: list[str]) -> bool:
    return any(_NO_LINES.fullmatch(one) for one in values) or any(
        before in ("-c", "-n") and after == "0" for before, after in pairwise(values)
    )


def reads_nothing(command: Simple, commands: list[Simple]) -> bool:
    """Whether what a command reads is known to be nothing."""
    for one in reversed(command.redirects):
        if not one.writes:
            return (one.text is not None and not one.text.strip()) or one.target.value == _NOTHING
    return bool(command.fed) and prints_nothing(commands[command.fed[-1]], commands)


def is_emptied_by(redirect: Redirect, command: Simple, commands: list[Simple]) -> bool:
    """`> f` behind a command that prints nothing."""
    return redirect.operator in (">", ">|", "&>") and prints_nothing(command, commands)


def is_read_before(redirect: Redirect, command: Simple, commands: list[Simple]) -> bool:
    """`jq . f > f`, `(jq . f) > f`: the shell empties the file before a command of the line reads it."""
    if redirect.operator not in (">", ">|", "&>"):
        return False
    return _reads(redirect.target, [command, *(commands[at] for at in (*command.fed, *command.holds))])


def _reads(file: Word, commands: Sequence[Simple]) -> bool:
    """Whether one of them names a file. Of two names that nobody knows it is sure where both are the same variables."""
    if not file.known and (file.inner or not file.names):
        return False
    plain, names = os.path.normpath(file.value), file.names if not file.known else None
    for command in commands:
        named = [] if not command.words or is_text_only(basename(command.words[0].value)) else command.words[1:]
        named = [*named, *(one.target for one in command.redirects if not one.writes and one.text is None)]
        same = (word for word in named if word.value and os.path.normpath(word.value) == plain)
        if any(names is None or (word.names == names and not word.inner) for word in same):
            return True
    return False


def emptied_by(run: Run, command: Simple, commands: list[Simple]) -> list[Word]:
    """The files among its words that a command leaves empty."""
    if run.program == "tee" and not run.has("-a", "--append") and command.fed:
        before = [commands[at] for at in command.fed]
        if found := [word for word in writes_to(run) if _reads(word, before) and _is_there(word, run.folders)]:
            return found
    if run.program in ("tee", "sponge"):
        added = run.has("-a", "--append")
        return writes_to(run) if not added and reads_nothing(command, commands) else []
    if run.program == "rsync":
        return writes_to(run) if _NOTHING in run.values[:-1] else []
    if run.program in ("awk", "gawk"):
        scripts = [code.value for code in codes(run.program, run.operands("-i -v -F -f"))]
        return writes_to(run) if scripts and all(_SILENT_AWK.fullmatch(one) for one in scripts) else []
    return []


def empties_in_code(code: str) -> bool:
    """Whether code opens files to write and puts nothing into them."""
    return _OPENS.search(code) is not None and _PUTS.search(code) is None


def _is_there(word: Word, folders: Sequence[str]) -> bool:
    return not word.known or any(may_be_lost(os.path.join(folder, word.value)) for folder in folders)


def may_be_lost(path: str) -> bool:
    """Whether there is something in a file; one in a folder that we do not see may be anywhere."""
    try:
        return os.stat(path).st_size > 0
    except (OSError, ValueError):
        return not os.path.isdir(os.path.dirname(path))


def link_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    """`ln -f` in the place of a file with something in it, or of source that would lead out of the project."""
    operands = run.operands("-t -S --target-directory --suffix")
    if len(operands) != 2 or not run.has("-f", "--force"):
        return
    for folder in run.folders:
        link, to = (place.whole(folder, word.value) for word in reversed(operands))
        leads_out = run.has("-s", "--symbolic") and not place.is_inside(to) and is_source(os.path.basename(link))
        replaced = os.path.isfile(link) and not os.path.islink(link) and may_be_lost(link)
        if (leads_out or replaced) and not (place.is_made_again(link) or place.is_temporary(link)):
            yield RuleHit("destroys", re.sub(HOLE, "…", f"ln -f … {operands[1].value}"))
            return
