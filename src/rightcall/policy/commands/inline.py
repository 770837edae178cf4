"""Code that an interpreter is given on its command line, or through its input. It is not run and not understood: what
it names is looked at. What deletes, starts programs, sends or reads credentials is a matter for a person."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.words import Word, basename, unversioned

if TYPE_CHECKING:
    from rightcall.policy.commands.python import PythonCode


class Interpreter(NamedTuple):
    """How a program takes code: by which options, and whether it reads it from its input when it has no operand."""

    options: tuple[str, ...]
    reads_input: bool = True
    first: bool = False
    """Its first operand is code."""
    valued: frozenset[str] = frozenset()
    """Options that take the next word."""


_PYTHON = Interpreter(("-c",), valued=frozenset(("-W", "-X", "--check-hash-based-pycs")))
_NODE = Interpreter(
    ("-e", "--eval", "-p", "--print", "-pe", "-pi"),
    valued=frozenset(("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions",
                      "--env-file", "--input-type", "--inspect-port", "--title")),
)  # fmt: skip
_AWK = Interpreter((), reads_input=False, first=True)
INTERPRETERS: dict[str, Interpreter] = {
    "python": _PYTHON, "python2": _PYTHON, "python3": _PYTHON, "pypy": _PYTHON, "pypy3": _PYTHON, "ipython": _PYTHON,
    "py": _PYTHON, "node": _NODE, "nodejs": _NODE, "bun": Interpreter(("-e", "--eval", "-p", "--print"), False),
    "tsx": _NODE, "ts-node": _NODE, "zx": _NODE,
    "perl": Interpreter(("-e", "-E", "-ne", "-pe", "-le", "-lne", "-ane", "-pie", "-nle", "-i.bak", "-0777", "-wle",
                         "-we")),
    "ruby": Interpreter(("-e", "-ne", "-pe"), valued=frozenset(("-I", "-r", "-C"))),
    "php": Interpreter(("-r", "-B", "-R", "-E"), valued=frozenset(("-d", "-c", "-z"))),
    "lua": Interpreter(("-e",)), "luajit": Interpreter(("-e",)), "rscript": Interpreter(("-e",)),
    "r": Interpreter(("-e",)), "julia": Interpreter(("-e", "--eval", "-E", "--print")),
    "osascript": Interpreter(("-e",)), "elixir": Interpreter(("-e", "--eval")), "erl": Interpreter(("-eval",), False),
    "ghc": Interpreter(("-e",), False), "scala": Interpreter(("-e",), False), "groovy": Interpreter(("-e",)),
    "tclsh": Interpreter(()), "expect": Interpreter(("-c",)), "jshell": Interpreter(()),
    "deno": Interpreter((), False), "crystal": Interpreter((), False), "timeit": Interpreter((), False),
    "lldb": Interpreter(("-o", "--one-line")),
    "awk": _AWK, "gawk": _AWK, "mawk": _AWK, "nawk": _AWK, "sed": _AWK, "gsed": _AWK,
    "emacs": Interpreter(("--eval", "-eval"), False),
    "gdb": Interpreter(("-ex", "-eval-command", "--ex", "--eval-command")),
    "pdb": Interpreter(("-c",), False), "emacsclient": Interpreter(("-e", "--eval"), False),
    **dict.fromkeys(("racket", "clojure", "clj", "bb", "ocaml", "swift", "raku", "gosh", "csi", "nim"),
                    Interpreter(("-e", "--eval"), False)),
    "guile": Interpreter(("-c",), False), "sbcl": Interpreter(("--eval", "--load"), False),
}  # fmt: skip

_DELETES = regex(
    r"\b(?:rmtree|os\.(?:remove|unlink|rmdir|removedirs|truncate|rename|renames|replace)\b|shutil\.move"
    r"|from\s+(?:os|shutil|pathlib)\s+import[^;\n]{0,200}\b(?:remove|unlink|rmdir|removedirs|rename|replace|move|truncate)"
    r"|(?:promises|fs)\.(?:rm|rmdir|unlink|rename|truncate)\w*|import\s*\{[^{}]{0,200}\b(?:rm|rmdir|unlink|rename)\b"
    r"|Deno\.(?:remove|rename|truncate)\w*|remove_(?:dir|entry)\w*|delete-(?:file|directory|tree)|removeItem|process\.kill\b|rmdir\b|\.unlink\(|unlink(?:Sync)?\b|rm(?:dir)?Sync"
    r"|fs\.(?:rm|rmdir)\b"
    r"|fsp?\.rm\b|\.rmdir\(|rimraf|del\(|FileUtils\.rm\w*|File\.(?:delete|unlink)|Dir\.(?:rmdir|delete|unlink)"
    r"|rm_rf?|remove_tree"
    r"|file\.remove|unlink\(|delete_file|removeSync|emptyDir|DROP\s+(?:TABLE|DATABASE|SCHEMA)|TRUNCATE\b|DELETE\s+FROM"
    r"|drop_all|dropDatabase|delete_many|deleteMany|delete_all|destroy_all|destroy!|update_all"
    r"|flushall|move to trash|empty trash|os\.kill\b)|\.delete\(\)"
    r"|\{[^{}]{0,200}\b(?:rm|rmdir|unlink|rename)\b[^{}]{0,200}\}\s*(?:=\s*(?:await\s+)?(?:require|import)\b|from\b)",
    re.IGNORECASE,
)  # fmt: skip
_STARTS = regex(
    r"\b(?:os\.(?:system|popen\w*|exec\w+|spawn\w+|posix_spawn\w*|fork)|subprocess|commands\.getoutput"
    r"|pty\.spawn|child_process"
    r"|execSync|spawnSync|execFile\w*|spawn\(|Deno\.(?:run|Command)|Bun\.(?:spawn|\$)|shell_exec|passthru"
    r"|proc_open|popen"
    r"|pcntl_exec|Kernel\.(?:system|exec|spawn)|IO\.popen|Open3|os\.execute|io\.popen|do shell script"
    r"|__import__|importlib"
    r"|ctypes|marshal\.loads|pickle\.loads|runpy|process\.binding|vm\.run\w*|code\.interact|readpipe"
    r"|shell-command|call-process|start-process|run-program|Sys\.command|System\.Process|clojure\.java\.shell"
    r"|install_(?:github|git|url|gitlab|bitbucket)|process\.dlopen|__subclasses__)"
    r"|(?<![\w.])(?:exec|eval|system|syscall|compile)\s*[(\"'`]|%x[({\[]|\bqx[({/]",
)  # fmt: skip
_TEMPLATE = regex(r"`[^`]{0,300}`")
_SENDS = regex(
    r"\b(?:requests\.(?:post|put|patch|delete|request)|httpx\.(?:post|put|patch|delete)"
    r"|urlopen\([^)]{0,300}data|socket\.(?:socket"
    r"|create_connection)|smtplib|ftplib|paramiko|telnetlib|net\.(?:connect|createConnection|Socket)|TCPSocket"
    r"|IO::Socket"
    r"|fsockopen|Net::(?:HTTP::(?:Post|Put|Delete)|HTTP\.post|FTP|SMTP)|curl_exec|/inet/tcp/|new WebSocket|dgram"
    r"|method\s*:\s*['\"](?:POST|PUT|PATCH|DELETE))",
    re.IGNORECASE,
)  # fmt: skip
_LOADS = regex(
    r"\b(?:exec|eval|loads|Function)\s*\(.{0,500}\b(?:urlopen|requests\.get|fetch|b64decode|fromhex|atob)\b", re.DOTALL
)
_CREDENTIALS = regex(
    r"\bos\.environ\b(?!\s*(?:\.get\(|\[)\s*['\"](?![^'\"]*(?:SECRET|TOKEN|PASSW|KEY|CREDENTIAL))[^'\"]*['\"])"
    r"|\bgetenv\(\s*['\"][^'\"]*(?:SECRET|TOKEN|PASSW|_KEY|CREDENTIAL)|process\.env\b(?!\.(?!\w*(?:SECRET"
    r"|TOKEN|PASSW|KEY|DATABASE_URL|_DSN|MONGO\w*URI"
    r"|CREDENTIAL))\w+)|\bENV\.(?:to_h|each|inspect)|\bENV\[['\"][^'\"]*(?:SECRET|TOKEN|PASSW|_KEY)"
    r"|\$ENV\{[^}]*(?:SECRET|TOKEN"
    r"|PASSW|_KEY)|%ENV\b|(?-i:\bENVIRON\b)|import\s+environ\b|getenv\(\s*\)|Deno\.env\.toObject|\$_ENV\b|keyring\.get_password|\bnetrc\b|Sys\.getenv\(\s*\)",
    re.IGNORECASE,
)  # fmt: skip
_OURSELVES = regex(
    r"\brightcall(?:\.cli\b|\.__main__\b|\s+import\s+(?:cli|__main__)\b)|runpy.{0,300}\brightcall\b", re.DOTALL
)
_OUR_IMPORT = regex(r"\b(?:import|from)\b(?:\\\n|[^;\n]){0,300}?(?<![\w./-])rightcall\b")
_BY_NAME = regex(r"__import__|importlib|import_module|runpy|pkgutil|sys\.modules|exec\s*\(|eval\s*\(")
_OUR_NAME = regex(r"(?<![\w./-])rightcall(?![\w/-]|\.(?:toml|py|md)\b)")
_LOOKS = r"(?:Gate|loads|tagged|__version__|__file__|__path__|__doc__)"
_OUR_HARMLESS = regex(
    rf"\bfrom\s+rightcall\s+import\s+(?:{_LOOKS}\s*,\s*){{0,9}}{_LOOKS}(?=\s*(?:[;#\n]|$))"
    r"|\bimport\s+(?:[\w.]+\s*,\s*){0,9}rightcall(?:\s*,\s*(?!rightcall)[\w.]+){0,9}(?=\s*(?:[;#\n]|$))"
    rf"|(?<![\w.])rightcall\.{_LOOKS}\b"
)
"""A look at what is installed, a gate, a parser: nothing of them answers for a person."""
_DECIDES = regex(
    r"(?:\.\s*|['\"]|\bimport\b\s*(?:\([^)]{0,500}?|[^;\n]{0,300}?)\b)"
    r"(?:answer|approve|resume|pause|grant|trust|adopt)(?:_\w+)?\b"
)
"""What only a person does."""
_STRINGS = regex(r"'((?:[^'\\\n]|\\.){1,300})'|\"((?:[^\"\\\n]|\\.){1,300})\"|`([^`\n]{1,300})`")
_MODE = r"['\"](?:[wax][bt+]{0,2}|r[bt]?\+[bt]?)['\"]"
_WRITES_BEFORE = regex(
    rf"\b\w{{0,20}}open\w{{0,20}}\s{{0,9}}\([^;\n]{{0,300}}?(['\"`][\s)]{{0,9}})?,\s{{0,9}}(?:mode\s{{0,3}}=\s{{0,3}})?{_MODE}"
    rf"|(['\"`][\s)]{{0,9}})?\.(?:open\s{{0,3}}\(\s{{0,9}}(?:mode\s{{0,3}}=\s{{0,3}})?{_MODE}"
    r"|(?:write_text|write_bytes|touch|symlink_to|hardlink_to|chmod)\s{0,3}\()",
)
"""Writes to the path that stands before: `open('x', 'w')`, `Path('x').write_text(…)`. A group that is there says that
the path is a text in the code."""
_WRITES_BEHIND = regex(
    r"\b(?:(?:write|append|copy|output)(?:Text|Json|JSON)?File\w*|createWriteStream|(?:write|output)_?[Jj]son\w*|file_put_contents"
    r"|(?:File|IO|Bun|FileUtils|fs)\.(?:bin)?(?:write|touch|cp|copy|mv|ln\w*|symlink\w*|chmod\w*)\w*"
    r"|os\.(?:symlink|link|chmod|mkfifo|makedirs|mkdir)"
    r"|shutil\.(?:copy\w*|move)|write-region|spit|writeLines|renameSync|rename|unlink\w*)\s{0,3}\(?\s{0,9}(['\"`])?"
)
"""The same for what stands behind: `writeFileSync('x', …)`."""
_MAY_WRITE = regex(r"open|rite|touch|link|chmod|append|cop|output|contents|cp|mv|ln|mk|make|move|spit|name|>")
"""A look before the longer expressions are compiled."""
_WRITES_SHELL = regex(r"\b(?:chmod|chown|symlink|copy)\b|['\"]\s{0,3}\+?>{1,2}|>{1,2}\s{0,3}['\"]")
"""As awk and perl do: `print > "x"`, `open(F, ">x")`."""
_AWK_STARTS = regex(r"\bsystem\s*\(|\|\s*getline|\|&|/inet/|print[^;}]{0,300}\|\s*\w|\|\s*\"")
_AWK_HARMLESS = regex(
    r"\|\s*\"(?:sort|uniq|head|tail|column|wc|nl|tr|cut|tac|less|cat)(?:\s+(?:-?[\w.,=:]+|1>&2|>&2))*\s*\""
)
"""`print | "sort -n"`"""
_SED_ADDRESS = r"(?:/(?:[^/\\\n]|\\.){0,200}/[IM]*|\d+(?:~\d+)?|\$)"
_SED_STARTS = regex(
    r"(?:^|[;{\n])\s*[\d,$/!]*\s*e\b|[/|#,@!]\s*[0-9gipm]*e[0-9gipm]*\s*(?:$|[;}\n])"
    rf"|(?:^|[;{{\n])\s*{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|[+~]\d+))?\s*!?\s*e"
)
_ALSO: dict[str, tuple[str, re.Pattern[str]]] = {
    "perl": ("runs", regex(r"\b(?:system|exec)\b\s*[\w$@(\"'`{]|\bopen\s*\(?[^;]{0,80}"
                          r"[\"'](?:\s*\||[^\"']*\|\s*[\"']|-\||\|-)"
                          r"|\bqx\W|\brename\b|\beval\b\s*[^{\s]|\bkill\b\s*[\s('\"\w-]*[,=]|\bfork\b|\brequire\s+['\"$]|\bdo\s+['\"]")),
    "tclsh": ("runs", regex(r"\bexec\b|\bopen\s+[\"{]?\s*\||\bfile\s+(?:delete|rename)|\bsocket\b")),
    "expect": ("runs", regex(r"\b(?:spawn|exec|system)\b|\bfile\s+(?:delete|rename)")),
    "julia": ("runs", regex(r"\bdownload\s*\(|Pkg\.add\s*\([^)]*url"
                           r"|\b(?:run|pipeline|readchomp|success|ccall|rm|mv)\s*\(|\bread\(`")),
    "groovy": ("runs", regex(r"\.execute\(|\.delete(?:Dir|OnExit)?\(|ProcessBuilder|getRuntime")),
    "scala": ("runs", regex(r"\.!|sys\.process|ProcessBuilder|getRuntime|\.delete\(")),
    "jshell": ("runs", regex(r"ProcessBuilder|getRuntime|\.delete")),
    "ipython": ("runs", regex(r"(?:^|[;\n])\s*[!%]|get_ipython|=\s*!")),
    "osascript": ("destroys", regex(r"\bdelete\b|\bempty\b|doShellScript")),
    "erl": ("runs", regex(r"os:cmd|open_port|file:del|file:rename")),
    "elixir": ("runs", regex(r"System\.(?:cmd|shell)|:os\.cmd|File\.(?:rm|rename)|Port\.open")),
    "gdb": ("runs", regex(r"^\s*(?:(?:shell|python|py|source|call|pipe)\b|!)", re.MULTILINE)),
    "lldb": ("runs", regex(r"^\s*(?:shell|platform shell|script|command source)\b", re.MULTILINE)),
    "ruby": ("runs", regex(r"\b(?:open|read|readlines|foreach|write|binread)\s*\(?\s*['\"]\s*\|"
                          r"|\b(?:eval|instance_eval|class_eval|system|exec|spawn|fork)\b\s*[\w\"'(%{:]"
                          r"|\b(?:send|__send__|public_send|method)\s*\(?\s*(?::|['\"])(?:system|exec|eval|spawn|`|fork|rm)"
                          r"|\bENV(?!\s*(?:\[|\.(?:fetch|key\?|has_key\?|include\?)))\b|\bProcess\.(?:kill|spawn)|\bload\s*\(?\s*['\"]")),
    "emacs": ("runs", regex(r"\((?:load|eval|process-file|make-process|delete-\w+|rename-file|write-region)\b")),
    "php": ("runs", regex(r"\brename\s*\(|\$\w+\s*\((?!\s*function)|\b(?:include|require|copy)(?:_once)?\b[^;]{0,200}://"
                         r"|call_user_func|\bcreate_function|array_map\s*\(\s*['\"]|\bassert\s*\(")),
    **dict.fromkeys(("node", "nodejs", "bun", "deno", "tsx", "ts-node", "zx"), ("runs", regex(
        r"\$`|\bFunction\s*\(|runIn\w*Context|\brequire\s*\(\s*(?:[^'\"`\s)]|['\"`](?:/|~))|\btruncate\w*\(|\)\s*\[\s*['\"`]?\w+['\"`]?\s*\]\s*\("
        r"|(?<![\w.])fs\w*\s*\[|import\s*\(\s*[^'\"`\s)]|(?:['\"`]|node:)(?:net|tls|dgram|vm|worker_threads|cluster|repl|inspector)['\"`]"
        r"|fs/promises.{0,300}\.rm\s*\(|['\"`:]fs['\"`].{0,300}\.(?:rm|rmdir|unlink|truncate)\s*\(", re.DOTALL))),
    **dict.fromkeys(("r", "rscript"), ("runs", regex(
        r"\bsystem2?\s*\(|\bshell\s*\(|file\.(?:remove|rename)|\bunlink\s*\(|\bsource\s*\(\s*['\"]https?:|install\.packages\([^)]*repos"))),
}  # fmt: skip
"""What only one language calls so."""
_SED_FILES = regex(r"(?:^|[;{}\n\s]|[^\w\s][0-9gipmeIM]{0,8})[rRwW]\s+([^\s;}]+)")
LONGEST_CODE = 50_000
"""Of one code, as far as its texts are looked at."""


def interpreter(program: str) -> Interpreter | None:
    return INTERPRETERS.get(program) or INTERPRETERS.get(unversioned(program))


_BUNDLES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("python", "pypy", "ipython", "py"), regex(r"-[^-cmXWQ]*c")),
    "perl": regex(r"-[acnpswWtTuUSl0-9]*i?[eE]"),
    "ruby": regex(r"-[acnpswWlS0-9]*i?e"),
}
"""Options that take code, which may stand behind them in the same word: `-Bc'…'`, `-lne'…'`."""


def codes(program: str, arguments: list[Word]) -> list[Word]:
    """The code among an interpreter's arguments."""
    how = interpreter(program)
    if how is not None or program in _FRAMEWORKS:
        framework = _framework_code(program, arguments)
        if framework is not None:
            return [framework]
    if how is None:
        return []
    arguments = arguments[[word.value for word in arguments[:1]] == ["run"] and program == "bun" :]
    if program in ("deno", "crystal"):
        words = [word for word in arguments[1:] if not word.value.startswith("-")]
        return words[:1] if arguments and arguments[0].value == "eval" else []
    if program == "timeit":
        return [Word("\n".join(word.value for word in arguments if not word.value.startswith("-")))]
    program = unversioned(program)
    found: list[Word] = []
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        bundled = _BUNDLES[program].match(value) if program in _BUNDLES else None
        if bundled is not None and bundled.end() < len(value):
            found.append(Word(value[bundled.end() :]))
        elif (
            bundled is not None
            or value in how.options
            or (program not in (*_BUNDLES, "node") and value[:1] == "-" and value[1:2] != "-"
                and f"-{value[-1:]}" in how.options)
        ):  # fmt: skip
            found += arguments[at + 1 : at + 2]
            at += 2
            continue
        for option in how.options:
            if option.startswith("--") and value.startswith(option + "="):
                found.append(Word(value[len(option) + 1 :]))
        if how is not _NODE and program not in _BUNDLES and len(value) > 2 and value[:2] in how.options:
            found.append(Word(value[2:]))
        if value in how.valued:
            at += 1
        if not value.startswith("-") and not how.first:
            break  # a script: what follows is its own
        at += 1
    if how.first:
        found += _first_operand(program, arguments)
    return found


_FRAMEWORKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "manage.py": (("shell", "shell_plus"), ("-c", "--command")),
    "django-admin": (("shell", "shell_plus"), ("-c", "--command")),
    "rails": (("runner", "r"), ()),
    "artisan": (("tinker",), ("--execute",)),
}
"""What runs code within an application: by which action, and behind which option; without one the next word is code."""


def _is_framework_shell(program: str, arguments: list[Word]) -> bool:
    """`python manage.py shell`, `rails console`: they read code from their input."""
    if program not in _SHELL_OF and not (arguments and basename(arguments[0].value) in _SHELL_OF):
        return False
    words = [program, *(basename(word.value) for word in arguments[:3] if not word.value.startswith("-"))]
    at = next((at for at, word in enumerate(words) if word in _SHELL_OF), -1)
    return 0 <= at < 2 and words[at + 1 : at + 2] != [] and words[at + 1] in _SHELL_OF[words[at]]


_SHELL_OF = {
    **dict.fromkeys(("manage.py", "django-admin", "flask"), ("shell", "shell_plus", "dbshell")),
    "rails": ("console", "c", "dbconsole", "runner"),
    "artisan": ("tinker",),
}


def _framework_code(program: str, arguments: list[Word]) -> Word | None:
    """`rails runner 'User.delete_all'`, `python manage.py shell -c '…'`."""
    rest = arguments
    if program not in _FRAMEWORKS and rest and basename(rest[0].value) in _FRAMEWORKS:
        program, rest = basename(rest[0].value), rest[1:]
    actions, options = _FRAMEWORKS.get(program, ((), ()))
    if not rest or rest[0].value not in actions:
        return None
    for at, word in enumerate(rest[1:], 1):
        name, equals, value = word.value.partition("=")
        if name in options:
            return Word(value, None, True) if equals else next(iter(rest[at + 1 :]), None)
        if not options and not word.value.startswith("-"):
            return word
    return None


def _first_operand(program: str, arguments: list[Word]) -> list[Word]:
    """The scripts of `sed` and `awk`: behind `-e`, else the first operand."""
    found: list[Word] = []
    given = skip = False
    for at, word in enumerate(arguments):
        value = word.value
        if skip:
            skip = False
        elif value in ("-e", "--expression", "--source"):
            found += arguments[at + 1 : at + 2]
            skip = given = True
        elif value.startswith(("--expression=", "--source=")):
            found.append(Word(value.partition("=")[2], None, True))
            given = True
        elif value.startswith("-e") and program in ("sed", "gsed"):
            found.append(Word(value[2:], None, True))
            given = True
        elif value in ("-f", "--file"):
            skip = given = True
        elif value.startswith(("-f", "--file=")):
            given = True
        elif value in ("-v", "-F", "-l", "--line-length") and program != "sed":
            skip = True
        elif not value.startswith("-") and not given:
            found.append(word)
            given = True
    return found


def is_fed(program: str, arguments: list[Word]) -> bool:
    """Whether an interpreter takes its code from its input: it has no code and no script."""
    how = interpreter(program)
    if _is_framework_shell(program, arguments):
        return True
    if how is not None and how.first:
        return any(one.value in ("-", "/dev/stdin") and arguments[at - 1].value in ("-f", "--file")
                   for at, one in enumerate(arguments) if at)  # fmt: skip
    if how is None or not how.reads_input:
        return False
    if program in ("gdb", "lldb"):  # an operand is what they look at
        return True
    if any(word.value in ("-m", "-V", "-v", "--version", "--help", "-h", "--check") for word in arguments):
        return False
    operands = [
        word
        for at, word in enumerate(arguments)
        if (not word.value.startswith("-") or word.value == "-")
        and (not at or arguments[at - 1].value not in how.valued)
    ]
    return not codes(program, arguments) and (not operands or operands[0].value in ("-", "/dev/stdin"))


def guards(code: str) -> Literal["ask", "deny", ""]:
    """Whether code calls RightCall's own commands, or imports what decides about calls: a model does not answer its own
    questions. A look at the version, or a gate, harms nobody."""
    if "rightcall" not in code:
        return ""
    if _OURSELVES.search(code):
        return "deny"
    if not (_OUR_IMPORT.search(code) or _BY_NAME.search(code)) or not _OUR_NAME.search(_OUR_HARMLESS.sub("", code)):
        return ""
    return "deny" if _DECIDES.search(code) else "ask"


def judged(program: str, code: str) -> tuple[str, str] | None:
    """The rule and the word that make code a matter for a person; None for nothing."""
    if program in ("awk", "gawk", "mawk", "nawk"):
        found = _AWK_STARTS.search(_AWK_HARMLESS.sub("", code))
        if found:
            return "runs", found.group().strip()
        return ("credentials", "ENVIRON") if "ENVIRON" in code else None
    if program in ("sed", "gsed"):
        found = _SED_STARTS.search(code) if "e" in code else None
        return ("runs", "e") if found else None
    if is_python(program) and (tree := _python_of(code)) is not None:
        return tree.findings[0] if tree.findings else None
    for rule, expression in (
        ("network", _LOADS), ("destroys", _DELETES), ("runs", _STARTS), ("publishes", _SENDS), ("credentials",
        _CREDENTIALS),
    ):  # fmt: skip
        found = expression.search(code)
        if found:
            return rule, found.group().strip()[:40]
    also = _ALSO.get(program) or _ALSO.get(program.rstrip("0123456789."))
    if also is not None and (found := also[1].search(code)):
        return also[0], found.group().strip()[:40]
    if program in ("perl", "ruby", "php", "julia") and _TEMPLATE.search(code):
        return "runs", "`…`"
    return None


def is_python(program: str) -> bool:
    """Whether the code that a program takes is Python."""
    return program in {"manage.py", "django-admin", "flask", "timeit", "pdb"} or interpreter(program) is _PYTHON


def _python_of(code: str) -> "PythonCode | None":
    from rightcall.policy.commands.python import read_python  # late: few commands hold Python

    return read_python(code) if len(code) <= LONGEST_CODE else None


def whole_texts(program: str, code: str) -> str:
    """Code with the texts put together that it makes from pieces; Python is read by its syntax instead."""
    if program in _REDIRECTING[1:]:  # texts that stand beside each other are one
        return re.sub(r"(?<=[^\\])\"[ \t]+\"", "", code)
    if program in ("sed", "gsed") or (is_python(program) and _python_of(code) is not None):
        return code
    from rightcall.policy.commands.literals import join_literals  # late: few commands hold code

    return join_literals(unversioned(program), code)


def hides_file(program: str, code: str) -> bool:
    """Whether code opens a file by a name that is spelled so that nobody can read it."""
    if is_python(program) and (tree := _python_of(code)) is not None:
        return tree.hides
    from rightcall.policy.commands.literals import hides_name  # late: as above

    return hides_name(code)


def globs_in(program: str, code: str) -> tuple[str, ...]:
    """The patterns by which code looks for files that it reads."""
    if not _READS.search(code):
        return ()
    if is_python(program) and (tree := _python_of(code)) is not None:
        return tree.globs
    return tuple(one[1] for one in _GLOBS.finditer(code))


_GLOBS = regex(r"(?:\bglob\w*|\bDir\.glob|\bDir)\s*[(\[]\s*['\"]([^'\"\n]{1,300})['\"]")
_READS = regex(
    r"\bopen\(|read_text|read_bytes|read[Ff]ile|readlines|File\.|IO\.|file_get_contents|<\$?\w+>|fopen|fileinput"
)


def composed(program: str, code: str) -> tuple[tuple[str, bool], ...]:
    """Paths that code puts together, or that it surely writes: each with whether it is written."""
    tree = _python_of(code) if is_python(program) else None
    return () if tree is None else tree.paths


def is_written(program: str, code: str) -> Callable[[str], bool]:
    """Whether code may write to a path that is a text in it: one in the same statement as what writes. Where that
    takes the path from a variable, it may be any."""
    written: set[str] = set()
    if program in ("sed", "gsed"):
        return {one[1] for one in _SED_FILES.finditer(code) if re.search(r"[wW]\s+\S", one.group())}.__contains__
    if not _MAY_WRITE.search(code):
        return written.__contains__
    for statement in re.split(r"[;\n]", code[:LONGEST_CODE]):
        found = [*_WRITES_BEFORE.finditer(statement), *_WRITES_BEHIND.finditer(statement)]
        if any(not any(one.groups()) for one in found):
            return lambda _text: True
        if found or (program in _REDIRECTING and _WRITES_SHELL.search(statement)):
            written.update(texts_in(program, statement))
    return written.__contains__


_REDIRECTING = ("perl", "awk", "gawk", "mawk", "nawk")


def texts_in(program: str, code: str) -> list[str]:
    """Texts in code that may be paths."""
    if program in ("sed", "gsed"):
        return [found[1] for found in _SED_FILES.finditer(code)]
    found = [one[1] or one[2] or one[3] for one in _STRINGS.finditer(code[:LONGEST_CODE])]
    if program in _REDIRECTING:
        found += [one.lstrip("+<> ") for one in found if one[:1] in ("+", "<", ">")]
    return [one for one in found if one and "\n" not in one and len(one) < 300]
