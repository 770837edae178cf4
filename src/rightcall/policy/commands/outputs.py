"""What a command writes: the words that name files and folders, by the program and its options."""

import re
from collections.abc import Callable

from rightcall.base.text import regex
from rightcall.policy.commands.runs import Run, action_at, options_of, value_of, values_of
from rightcall.policy.commands.words import Word

OUTPUT_VARIABLES = frozenset(
    ("gobin", "gopath", "cargo_target_dir", "cargo_install_root", "pip_target", "pip_prefix", "pip_root", "destdir",
     "npm_config_prefix", "uv_project_environment", "gem_home")
)  # fmt: skip
"""Names of variables that say where a program writes."""


def unpacks(run: Run) -> bool:
    """Whether `tar` writes what is in an archive."""
    given = {name for name, _ in options_of("tar", run.arguments)}
    return not given.isdisjoint(("-x", "--extract", "--get")) or given.isdisjoint(("-c", "--create", "-t", "--list"))


def writes_to(run: Run) -> list[Word]:
    """The words that name what a command writes."""
    writer = _WRITERS.get(run.program, _outputs)
    return [] if run.elsewhere else writer(run)


_OUTPUTS = regex(
    r"--?(?:out|output|outfile|out-file|output-file|outdir|out-dir|output-dir|output-path|dest|destination|dest-?dir"
    r"|target-dir|install-dir|site-dir|pack-destination|basetemp|junit-?xml|save-to|write-to|[a-z]+_out)",
    re.IGNORECASE,
)
_MAY_NAME = regex(r"\A-o|out|dest|-to\b|-dir|basetemp|junit")
_OTHER_O = frozenset(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "git", "ps", "ssh", "sftp", "mount", "kubectl",
     "oc", "k", "set", "find", "gfind", "fd", "docker", "podman", "helm", "az", "bash", "sh", "zsh", "strace", "ltrace",
     "ls", "od", "nm", "objdump", "lsof", "ss", "journalctl", "systemctl", "gdb", "lldb", "node", "test", "[", "[[",
     "echo", "printf", "cat", "head", "tail", "wc", "xargs", "useradd", "usermod", "chown", "dpkg", "apt", "apt-get",
     "jq", "sed")
)  # fmt: skip
"""Programs to which `-o` is something else, or that write nothing."""


def _outputs(run: Run) -> list[Word]:
    """What a program writes that nobody described, where an option says so that means it nearly everywhere. Only what
    may lie elsewhere, or is hidden."""
    if run.program in _OTHER_O:
        return []
    made = _project_folders(run)
    if not any(one[:1] == "-" and _MAY_NAME.search(one) for one in run.values):
        return made
    found = made + [
        word
        for name, word in options_of(run.program, run.arguments)
        if word is not None and (name == "-o" or _OUTPUTS.fullmatch(name)) and word.value[:1] in ("/", "~", ".")
    ]
    pairs = zip(run.values, run.arguments[1:], strict=False)
    return found + [
        word for name, word in pairs
        if (name == "-o" or _OUTPUTS.fullmatch(name)) and word.value[:1] in ("/", "~", ".") and word not in found
    ]  # fmt: skip


_MAKING = frozenset(("new", "init", "create", "startproject", "startapp"))


def _project_folders(run: Run) -> list[Word]:
    """The folder that a program makes a project in: `cargo new /srv/x`, `npm create vite /srv/x`, `create-react-app x`.
    Only what may lie elsewhere."""
    begun = (
        0
        if run.program.startswith("create-")
        else next((at + 1 for at, one in enumerate(run.values) if one in _MAKING), -1)
    )
    return [] if begun < 0 else [word for word in run.arguments[begun:] if word.value.startswith(("/", "~", ".."))]


def _last(valued: str) -> Callable[[Run], list[Word]]:
    def read(run: Run) -> list[Word]:
        into = run.option("-t", "--target-directory") if run.program not in ("rsync", "scp") else None
        operands = run.operands(valued)
        if into is not None:
            return [into]
        return operands[-1:] if len(operands) > 1 else []

    return read


def _all(valued: str = "") -> Callable[[Run], list[Word]]:
    return lambda run: run.operands(valued)


def _named(*options: str) -> Callable[[Run], list[Word]]:
    def read(run: Run) -> list[Word]:
        return values_of(run.program, run.arguments, options)

    return read


def _compiled_to(run: Run) -> list[Word]:
    """`gcc -o x`; of its other options many have an `o` in them."""
    return [word for at, word in enumerate(run.arguments[1:]) if run.values[at] == "-o"]


def _worked_in(options: str, actions: str, *named: str) -> Callable[[Run], list[Word]]:
    """Programs that bring packages into a folder that an option names: `npm --prefix dir install`. `named` are options
    that name an output whatever is done."""
    folders, writing = tuple(options.split()), frozenset(actions.split())

    def read(run: Run) -> list[Word]:
        found = [*_outputs(run), *(values_of(run.program, run.arguments, named) if named else ())]
        return found if writing.isdisjoint(run.values) else [*found, *values_of(run.program, run.arguments, folders)]

    return read


_BRINGING = "install i ci add update upgrade up uninstall remove rm un init create link dedupe prune sync lock import"


def _made_by_uv(run: Run) -> list[Word]:
    at = action_at("uv", run.arguments)
    made = Run(run.program, run.name, run.arguments[at + 1 :], run.folders, values=run.values[at + 1 :])
    folders = made.operands("-p --python --prompt")[:1] if at >= 0 and run.values[at] == "venv" else []
    return [*folders, *_worked_in("--directory --project", _BRINGING, "--target", "--prefix", "-t")(run)]


def _made_by_python(run: Run) -> list[Word]:
    return run.operands("-m --prompt")[:9] if run.values[:2] == ["-m", "venv"] else []


def _installed_to(run: Run) -> list[Word]:
    """`make install prefix=/usr`; with `DESTDIR` it goes there."""
    if "install" not in run.values:
        return []
    into = [Word(one[8:]) for one in run.values if one.startswith("DESTDIR=")]
    return into or [Word(one.partition("=")[2]) for one in run.values if one.casefold().startswith("prefix=")]


_CHANGING = frozenset(
    ("add", "am", "apply", "checkout", "cherry-pick", "clean", "commit", "init", "merge", "mv", "pull", "rebase",
     "reset", "restore", "revert", "rm", "stash", "switch")
)  # fmt: skip


def _written_by_git(run: Run) -> list[Word]:
    """What is written besides the files of the work tree; and a work tree elsewhere: `git -C /etc commit`."""
    elsewhere = values_of("git", run.arguments, ("-C",)) if "-C" in run.values else []
    if not elsewhere and not any(
        one.startswith(("-o", "--o", "--se")) or one in ("bundle", "mv") for one in run.values
    ):
        return []
    at = action_at("git", run.arguments)
    action, rest = (run.values[at], run.arguments[at + 1 :]) if at >= 0 else ("", [])
    if elsewhere and action in _CHANGING:
        return elsewhere
    found = value_of("git", rest, "--output", "--separate-git-dir", "--output-directory")
    if found is None and action in ("archive", "format-patch"):
        found = value_of("git", rest, "-o")
    if action == "bundle" and rest and rest[0].value == "create":
        found = next((word for word in rest[1:] if word.value == "-" or not word.value.startswith("-")), None)
    if action == "mv":
        found = next((word for word in reversed(rest) if not word.value.startswith("-")), None)
    return [found] if found is not None and found.value != "-" else []


_CONSOLE_READS = regex(
    r"(?:^|[\s;])\.(?:import|read|restore|open|load)\s+(?:-\S+\s+(?:\d+\s+)?)*['\"]?([^\s'\";]+)"
    r"|\b(?:readfile|read_\w+|load_file|pg_read_\w+|lo_import|glob)\s*\(\s*['\"]([^'\"]+)"
    r"|\b(?:from|infile|attach(?:\s+database)?)\s+['\"]([^'\"]+)['\"]", re.IGNORECASE,
)  # fmt: skip


def read_by_console(run: Run) -> list[Word]:
    """Files that a client of a database is told to read: `.import x`, `select readfile('x')`."""
    texts = [one for one in (*run.values, run.text or "") if len(one) < 5000]
    found = (one for text in texts for found in _CONSOLE_READS.findall(text) for one in found if one)
    return [Word(one, one if re.search(r"[*?\[]", one) else None) for one in found]


_CONSOLE_WRITES = regex(r"(?:^|[\s;])(?:\.(?:output|once|backup|save|clone|log)|\\[oT])\s+(?!stdout)['\"]?([^\s'\";]+)")


def _written_by_console(run: Run) -> list[Word]:
    """Files that a client of a database is told to write: `.output x`, `\\o x`."""
    texts = [one for one in (*run.values, run.text or "") if len(one) < 5000]
    return [Word(path) for text in texts for path in _CONSOLE_WRITES.findall(text)]


_SED_WRITES = regex(r"(?:^|[;{}\n]|s(.).*\1[a-zA-Z0-9]*|/|\d|\$)[wW]\s+([^\s;}]+)")


def _written_by_sed(run: Run) -> list[Word]:
    """Files edited in their place, and those that `w` names."""
    scripts = [word for name, word in options_of(run.program, run.arguments) if name in ("-e", "--expression") and word]
    scripts = scripts or run.operands("-e -f --expression --file -l -E")[:1]
    named = [Word(found[2]) for word in scripts if len(word.value) < 5000 for found in _SED_WRITES.finditer(word.value)]
    return [*_in_place(run), *named]


def _in_place(run: Run) -> list[Word]:
    if not any(re.match(r"-[a-zA-Z]*i|--in?-?p?l?a?c?e?", value) for value in run.values):
        return []
    operands = run.operands("-e -f --expression --file -l")
    given = gives_pattern(run.program, run.values)
    return operands if given or run.program not in ("sed", "gsed") else operands[1:]


_WITH_TEXT = {"perl": "iIMmFxCD", "ruby": "iIFxCrE", "sed": "il", "gsed": "il"}
"""Letters behind which the rest of a bundle is no option: `-i.bak`."""


def gives_pattern(program: str, values: list[str]) -> bool:
    """Whether an option gives the pattern or script, which the first operand would be otherwise: `-e x`, `-ex`, `-iex`.

    >>> gives_pattern("grep", ["-iekey"]), gives_pattern("grep", ["-thelm"]), gives_pattern("sed", ["-i.before"])
    (True, False, False)
    """
    closing = _WITH_TEXT.get(program, "ABCmdDgjMtTvF")
    for value in values:
        if value == "--":
            return False
        if value.startswith("--"):
            if value.partition("=")[0] in {"--regexp", "--file", "--expression", "--from-file"}:
                return True
        elif value.startswith("-"):
            for letter in value[1:]:
                if letter in "efE" and (letter != "E" or program == "perl"):
                    return True
                if letter in closing:
                    break
    return False


def _written_by_cmdlet(run: Run) -> list[Word]:
    """`Set-Content -Path x`, `Copy-Item a b`."""
    copies = run.program in ("copy-item", "move-item")
    names = ("-destination",) if copies else ("-path", "-literalpath", "-filepath")
    for before, word in zip(run.values, run.arguments[1:], strict=False):
        if before.casefold() in names:
            return [word]
    operands = run.operands()
    return operands[1:2] if copies else operands[:1]


_WRITERS: dict[str, Callable[[Run], list[Word]]] = {
    **dict.fromkeys(("cp", "mv", "ln", "gcp", "gmv"), _last("-t -S --suffix")),
    "install": _last("-t -S -m -o -g --suffix --mode --owner --group"),
    "rsync": _last("-e -B -T -f -M --rsh --exclude --include --exclude-from --include-from --files-from --filter"),
    "scp": _last("-P -i -o -c -F -l -S -J -D -X"),
    **dict.fromkeys(("tee", "rmdir", "sponge"), _all()),
    **dict.fromkeys(("mkdir", "mkfifo"), _all("-m --mode")),
    "touch": _all("-d -r -t --date --reference --time"),
    "truncate": _all("-s -r --size --reference"),
    "patch": _all("-d -p -i -r --directory --strip --input --reject-file"),
    "cpio": _named("-D", "--directory"),
    **dict.fromkeys(("sed", "gsed"), _written_by_sed),
    **dict.fromkeys(("perl", "ruby"), _in_place),
    **dict.fromkeys(("gawk", "awk"), lambda run: run.operands("-i -v -f -F")[1:] if "inplace" in run.values else []),
    "dd": lambda run: [Word(word.value[3:]) for word in run.arguments if word.value.startswith("of=")],
    "curl": _named("-o", "--output", "--output-dir", "-c", "--cookie-jar", "-D", "--dump-header", "--stderr"),
    "wget": _named("-O", "--output-document", "-P", "--directory-prefix", "-o", "-a", "--save-cookies"),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), lambda run: _named("-C", "--directory")(run) if unpacks(run) else []),
    "unzip": _named("-d"),
    "git": _written_by_git,
    **dict.fromkeys(("diff", "shuf", "tree", "jc", "pandoc", "dot", "pdftotext"), _named("-o", "--output")),
    "uniq": lambda run: run.operands("-f -s -w")[1:2],
    "xxd": lambda run: run.operands("-c -g -l -o -s -n")[1:2] if run.has("-r", "-revert") else [],
    "ssh-keygen": lambda run: [] if run.has("-l", "-F") else _named("-f")(run),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "duckdb"), _written_by_console),
    **dict.fromkeys(("pip", "pip3"), _named("-t", "--target", "--prefix", "--root", "-d", "--dest", "-w")),
    **dict.fromkeys(("npm", "cnpm"), _worked_in("--prefix -C", _BRINGING)),
    "pnpm": _worked_in("-C --dir --prefix", _BRINGING),
    **dict.fromkeys(("yarn", "bun"), _worked_in("--cwd", _BRINGING)),
    "composer": _worked_in("-d --working-dir", f"{_BRINGING} require create-project"),
    "poetry": _worked_in("-C --directory -P --project", _BRINGING),
    "uv": _made_by_uv,
    "bundle": _named("--path", "--gemfile"),
    "gem": _named("-i", "--install-dir", "-n", "--bindir"),
    "virtualenv": _all("-p --python --prompt --download"),
    "sphinx-build": _last("-b -c -d -D -t -j -A -w"),
    **dict.fromkeys(("mkdocs", "coverage"), _named("-d", "--site-dir", "--directory")),
    "aria2c": _named("-d", "--dir", "-o", "--out"),
    **dict.fromkeys(("pg_dump", "pg_dumpall"), _named("-f", "--file")),
    **dict.fromkeys(("7z", "7za", "7zz"), lambda run: [Word(one[2:]) for one in run.values if re.match("-o.", one)]),
    **dict.fromkeys(("ffmpeg", "convert", "magick"), lambda run: run.arguments[-1:] if len(run.arguments) > 1 else []),
    **dict.fromkeys(("zipfile", "tarfile"), lambda run: run.operands()[-1:] if run.has("-e", "--extract") else []),
    "csplit": _named("-f", "--prefix"),
    "sort": _named("-o", "--output"),
    "openssl": _named("-out"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "go", "rustc", "ld"), _compiled_to),
    **dict.fromkeys(("python", "python3"), _made_by_python),
    **dict.fromkeys(("make", "gmake"), _installed_to),
    "cmake": _named("-B", "--prefix", "--install-prefix"),
    "gpg": _named("-o", "--output"),
    "split": lambda run: run.operands("-l -b -n -a -C -t")[1:],
    "ex": _all(),
    **dict.fromkeys(
        ("set-content", "add-content", "out-file", "new-item", "copy-item", "move-item"), _written_by_cmdlet
    ),
}
