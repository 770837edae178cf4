"""What Python code would do, read from its syntax tree: it is not run. A name is followed to what it stands for
(`import os as x`, `from os import system as s`, `getattr(os, "sys" + "tem")`), and a path to its text
(`Path.home() / ".ssh"`). What nobody can tell beforehand, as `exec` of a computed text, is a finding too."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from sys import stdlib_module_names
from typing import NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.literals import decode_from, fill_braces, fill_percents
from rightcall.policy.commands.runs import SECRET_NAME
from rightcall.policy.commands.words import HOLE

_MOST_NODES = 20_000
_DEEPEST = 12
_BUILTINS = frozenset(
    ("exec", "eval", "compile", "open", "__import__", "getattr", "vars", "globals", "locals", "__builtins__", "str",
     "chr", "print", "breakpoint", "bytes", "bytearray")
)  # fmt: skip
_MEANS = regex(
    r"(?P<runs>os\.(?:system|popen\w*|exec[lv]\w*|spawn\w+|posix_spawn\w*|fork|forkpty|startfile)"
    r"|subprocess\.(?:[a-z]\w*|Popen|__dict__|\*)|commands\.get\w+|pty\.(?:spawn|fork)|asyncio\.create_subprocess_\w+"
    r"|(?:ctypes|cffi|sh|plumbum|pexpect|invoke|fabric|delegator|imp|runpy)(?:\..+)?|code\.(?:interact|Interact\w+)"
    r"|(?:marshal|pickle|dill|cloudpickle|jsonpickle)\.(?:loads|decode)|builtins\.(?:exec|eval|breakpoint|\*)"
    r"|(?:os|shutil|posix|nt)\.\*|(?:posix|nt)\.(?:system|popen|exec\w+|spawn\w+|fork)|pip\..+"
    r"|zipimport\..+|concurrent\.interpreters\..+)"
    r"|(?P<destroys>(?:os|posix|nt)\.(?:remove|unlink|rmdir|removedirs|truncate|rename|renames|replace|kill|killpg)"
    r"|shutil\.(?:rmtree|move)|send2trash(?:\..+)?|pathlib\.\w+(?:\(\))?\.(?:unlink|rmdir|rename|replace)"
    r"|psutil\.Process\(\)\.(?:kill|terminate))"
    r"|(?P<publishes>(?:smtplib|ftplib|paramiko|telnetlib|poplib|imaplib|nntplib|pysftp|asyncssh|xmlrpc\.client)\..+)"
    r"|(?P<credentials>keyring\.get_\w+|netrc(?:\..+)?|dotenv\.dotenv_values|os\.environb?\.\*|browser_cookie3(?:\..+)?)"
)
"""Full names by what they mean. `x.*` stands for an attribute that nobody knows."""
_METHODS: dict[str, str] = {
    **dict.fromkeys(("system", "popen", "check_output", "check_call", "getoutput", "execvp", "execv", "execve",
                     "execl", "execlp", "spawnl", "create_subprocess_shell", "create_subprocess_exec", "run_cell",
                     "exec_command", "run_line_magic", "getpopen"), "runs"),
    **dict.fromkeys(("rmtree", "unlink", "rmdir", "removedirs", "killpg", "drop_all", "delete_many", "deleteMany",
                     "drop_database", "drop_collection", "flushall", "flushdb", "delete_one"), "destroys"),
    **dict.fromkeys(("get_credentials", "get_password", "dotenv_values"), "credentials"),
    **dict.fromkeys(("sendmail", "send_message", "storbinary", "starttls", "sendall"), "publishes"),
}  # fmt: skip
"""Methods of objects that nobody knows, by what they mean."""
_WEB = ("requests", "httpx", "aiohttp", "urllib3", "urllib.request", "http.client")
_CHANGING = frozenset(("post", "put", "patch", "delete", "request", "stream"))
_GETTERS = frozenset(("requests.get", "httpx.get", "urllib.request.urlopen", "webbrowser.open", "requests.head"))
_CLOUDS = frozenset(
    ("boto3", "botocore", "aioboto3", "google", "azure", "kubernetes", "stripe", "twilio", "slack_sdk", "slack",
     "github", "gitlab", "tweepy", "telegram", "sendgrid", "minio", "docker", "huggingface_hub", "pymongo", "redis")
)  # fmt: skip
_CLOUD_CHANGES = regex(
    r"(?:delete|terminate|remove|put|create|update|send|publish|upload|purge|stop|reboot|drop|patch|chat_post|prune"
    r"|kill|flush|push)(?:_\w+)?"
)
_LOCAL = regex(r"(?:\w+://)?(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0|testserver)(?:[:/?#].*|$)")
_SQL = regex(
    r"(?:^|;)\s*(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|INDEX|VIEW|USER|ROLE|COLLECTION)\b|TRUNCATE\b|DELETE\s+FROM\b)",
    re.IGNORECASE,
)
_WRITING = re.compile(r"[wax]|\+")
_PATH_WRITERS = frozenset(("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "chmod", "mkdir"))
_SAVES = regex(r"to_\w+|save\w*|imsave|imwrite")
"""Methods that write to the file that they are given first."""
_TARGETS = {
    "shutil.copy": (1,), "shutil.copy2": (1,), "shutil.copyfile": (1,), "shutil.copytree": (1,), "shutil.move": (0, 1),
    "os.symlink": (0, 1), "os.link": (0, 1), "os.chmod": (0,), "os.mkfifo": (0,), "os.makedirs": (0,), "os.mkdir": (0,),
    "os.chown": (0,), "shutil.chown": (0,), "shutil.unpack_archive": (1,),
    "urllib.request.urlretrieve": (1,),
}  # fmt: skip
"""Which of their arguments a call writes to."""


class PythonCode(NamedTuple):
    """What is found in code: kinds with the words that matter, and paths with whether they are written."""

    findings: tuple[tuple[str, str], ...]
    paths: tuple[tuple[str, bool], ...]
    globs: tuple[str, ...] = ()
    """Patterns of files that are looked for."""
    hides: bool = False
    """A file is opened by a name that is spelled so that nobody can read it."""


@lru_cache(8)
def read_python(code: str) -> PythonCode | None:
    """What code would do; None where it is not Python, and has to be looked at in another way."""
    return _read(code, 0)


def _read(code: str, depth: int) -> PythonCode | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in texts that are not ours
            tree = ast.parse(code.strip())
        nodes = list(islice(ast.walk(tree), _MOST_NODES + 1))
        if len(nodes) > _MOST_NODES:
            return None
        reader = _Code(nodes, depth)
        found = tuple(dict.fromkeys(reader.findings()))
        paths = dict.fromkeys((*reader.paths(), *((text, False) for text in reader.spelled_texts(code))))
        return PythonCode(found, tuple(paths), tuple(reader.globs()), reader.hides())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Code:
    def __init__(self, nodes: list[ast.AST], depth: int) -> None:
        self.nodes = nodes
        self.depth = depth
        self.names: dict[str, list[str]] = {}
        self.assigned: dict[str, list[ast.expr]] = {}
        self.stars: list[str] = []
        self.roots: set[str] = set()
        self.known: dict[str, list[str]] = {}
        self.texts: dict[str, str | None] = {}
        self.called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            self._binds(node)

    def _binds(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                self.names.setdefault(one.asname or top, []).append(one.name if one.asname else top)
                self.roots.add(top)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            self.roots.add(node.module.partition(".")[0])
            for one in node.names:
                if one.name == "*":
                    self.stars.append(node.module)
                else:
                    self.names.setdefault(one.asname or one.name, []).append(f"{node.module}.{one.name}")
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigns(target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._assigns(node.target, node.value)  # a second value: its text is not known any more
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self._assigns(node.target, node.value)
        elif isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, (ast.List, ast.Tuple, ast.Set)):
            for one in node.iter.elts:
                self._assigns(node.target, one)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assigns(node.optional_vars, node.context_expr)

    def _assigns(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            for one, two in zip(target.elts, value.elts, strict=False):
                self._assigns(one, two)

    # ── what a name stands for ─────────────────────────────────────────────────────────────────────────────────────

    def meant(self, node: ast.expr, depth: int = 0) -> list[str]:
        """The full names that an expression may stand for; `x()` is what a call of `x` gives."""
        if depth > _DEEPEST:
            return []
        if isinstance(node, ast.Name):
            return self._named(node.id, depth)
        if isinstance(node, ast.Attribute):
            return [_attribute(one, node.attr) for one in self.meant(node.value, depth + 1)]
        if isinstance(node, ast.Call):
            return [made for one in self.meant(node.func, depth + 1) for made in self._made(one, node, depth)]
        if isinstance(node, ast.Subscript):
            return [made for one in self.meant(node.value, depth + 1) for made in self._item(one, node.slice, depth)]
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            return self.meant(node.value, depth + 1)
        if isinstance(node, ast.IfExp):
            return [*self.meant(node.body, depth + 1), *self.meant(node.orelse, depth + 1)]
        if isinstance(node, ast.BoolOp):
            return [name for one in node.values[:4] for name in self.meant(one, depth + 1)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return [one for one in self.meant(node.left, depth + 1) if one.startswith("pathlib.")]
        return []

    def _named(self, name: str, depth: int) -> list[str]:
        if name in self.known:
            return self.known[name]
        self.known[name] = []  # while it is looked for: one that stands for itself has no end
        found = list(self.names.get(name, ()))
        for value in self.assigned.get(name, ())[:4]:
            found += self.meant(value, depth + 1)
        if not found:
            found = [f"{one}.{name}" for one in self.stars if _MEANS.fullmatch(f"{one}.{name}")]
        if not found and name in _BUILTINS:
            found = ["builtins" if name == "__builtins__" else f"builtins.{name}"]
        self.known[name] = found[:8]
        return found[:8]

    def _made(self, name: str, call: ast.Call, depth: int) -> list[str]:
        first = self.text(call.args[0], depth + 1) if call.args else None
        if name in ("builtins.__import__", "importlib.import_module", "importlib.__import__"):
            if first is None:
                return ["builtins.*"]
            return [first.partition(".")[0] if name.endswith("__import__") else first]
        if name == "builtins.getattr" and len(call.args) > 1:
            attribute = self.text(call.args[1], depth + 1)
            owners = self.meant(call.args[0], depth + 1)
            return [_attribute(one, attribute if attribute is not None else "*") for one in owners]
        if name == "builtins.vars" and call.args:
            return [f"{one}.__dict__" for one in self.meant(call.args[0], depth + 1)]
        if name in ("builtins.globals", "builtins.locals"):
            return [name]
        if name.endswith((".__getattribute__", ".__dict__.get", ".__dict__.__getitem__")):
            owner = name.removesuffix(".get").removesuffix(".__getitem__")
            return [_attribute(owner.rpartition(".")[0], first if first is not None else "*")]
        if name == "sys.modules.get":
            return [first] if first is not None else ["builtins.*"]
        return [f"{name}()"]

    def _item(self, name: str, item: ast.expr, depth: int) -> list[str]:
        key = self.text(item, depth + 1)
        if name == "sys.modules":
            return [key if key is not None else "builtins.*"]
        if name.endswith(".__dict__"):
            return [_attribute(name.removesuffix(".__dict__"), key if key is not None else "*")]
        if name in ("builtins.globals", "builtins.locals"):
            return self._named(key, depth + 1) if key is not None else ["builtins.*"]
        return []

    # ── texts and paths ────────────────────────────────────────────────────────────────────────────────────────────

    def text(self, node: ast.expr, depth: int = 0) -> str | None:
        """A text that can be told without running anything."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bytes):
                return node.value.decode("utf-8", "replace")
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            values = self.assigned.get(node.id, ())
            if len(values) != 1 or node.id in self.names:
                return None
            if node.id not in self.texts:
                self.texts[node.id] = None  # while it is looked for
                self.texts[node.id] = self.text(values[0], depth + 1)
            return self.texts[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
            parts = [self.text(node.left, depth + 1), self.text(node.right, depth + 1)]
            return join_texts(parts, "" if isinstance(node.op, ast.Add) else "/")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._format(node, depth)
        if isinstance(node, ast.JoinedStr):
            inner = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
            return join_texts([self.text(one, depth + 1) for one in inner], "")
        if isinstance(node, ast.Subscript):
            return self._cut(node, depth)
        return self._called_text(node, depth) if isinstance(node, ast.Call) else None

    def _format(self, node: ast.BinOp, depth: int) -> str | None:
        """`"%senv" % "."`."""
        form = self.text(node.left, depth + 1)
        right = node.right
        several = right.elts if isinstance(right, ast.Tuple) else right.values if isinstance(right, ast.Dict) else None
        given = several if several is not None else [right]
        texts = [self._show(one, depth) for one in given[:50]]
        return fill_percents(form, texts) if form is not None else None

    def _show(self, node: ast.expr, depth: int) -> str | None:
        """A text or a number as a format shows it."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return str(node.value)
        return self.text(node, depth + 1)

    def _cut(self, node: ast.Subscript, depth: int) -> str | None:
        """`"vne."[::-1]`, a piece of a text, and the home that a variable names."""
        if isinstance(node.slice, ast.Slice):
            text = self.text(node.value, depth + 1)
            bounds = [node.slice.lower, node.slice.upper, node.slice.step]
            numbers = [None if one is None else number_of(one) for one in bounds]
            known = all(two is not None for one, two in zip(bounds, numbers, strict=True) if one is not None)
            return text[slice(*numbers)] if text is not None and known and numbers[2] != 0 else None
        home = "os.environ" in self.meant(node.value, depth + 1) and self.text(node.slice, depth + 1) == "HOME"
        return "~" if home else None

    def _called_text(self, node: ast.Call, depth: int) -> str | None:
        args = [self.text(one, depth + 1) for one in node.args[:50]]
        names = self.meant(node.func, depth + 1)
        name = names[0] if names else ""
        if name in ("pathlib.Path.home", "pathlib.Path().home"):
            return "~"
        if name in ("os.getenv", "os.environ.get"):
            return "~" if args[:1] == ["HOME"] else None
        if name in ("os.getcwd", "pathlib.Path.cwd"):
            return "."
        if name == "os.path.join" or re.fullmatch(r"pathlib\.\w*Path", name):
            return join_texts(args, "/") if args else "."
        if name in ("os.path.expanduser", "os.path.expandvars", "os.path.abspath", "os.path.realpath", "builtins.str"):
            return args[0] if args else None
        if node.args and name == "builtins.chr":
            value = number_of(node.args[0])
            return chr(value) if value is not None and 0 <= value < 0x11000 else None
        if node.args and name in ("builtins.bytes", "builtins.bytearray") and (made := characters_of(node.args[0])):
            return made
        if name in ("base64.b64decode", "binascii.unhexlify", "builtins.bytes.fromhex") and args:
            return decode_from(name.rpartition(".")[2], args[0]) if args[0] is not None else None
        own = self.text(node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else None
        return self._change(own, node, args, depth) if own is not None else None

    def _change(self, own: str, node: ast.Call, args: list[str | None], depth: int) -> str | None:
        """What a method makes of a text."""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = [one for one in args if one is not None]
        if method in ("expanduser", "resolve", "absolute", "decode", "encode", "as_posix"):
            return own
        if method in CHANGED_BY and len(given) == len(args) <= 1:
            return str(getattr(own, method)(*given))
        if method == "format":
            named = {one.arg: self._show(one.value, depth) for one in node.keywords if one.arg is not None}
            return fill_braces(own, [self._show(one, depth) for one in node.args[:50]], named)
        if method == "joinpath":
            return join_texts([own, *args], "/")
        if method == "join" and node.args:
            if isinstance(node.args[0], (ast.List, ast.Tuple)):
                return join_texts([self.text(one, depth + 1) for one in node.args[0].elts], own)
            made = characters_of(node.args[0])
            return own.join(made) if made and len(own) < 9 else None
        if method == "replace" and len(given) == len(args) == 2:
            longer = own.count(given[0]) * (len(given[1]) - len(given[0]))
            return own.replace(given[0], given[1]) if len(own) + longer <= LONGEST_TEXT else None
        return None

    def _join_known(self, node: ast.expr, depth: int = 0) -> str:
        """A text with its unknown parts as holes."""
        text = self.text(node, depth)
        if text is not None or depth > _DEEPEST:
            return HOLE if text is None else text
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
            between = "" if isinstance(node.op, ast.Add) else "/"
            left, right = self._join_known(node.left, depth + 1), self._join_known(node.right, depth + 1)
            return (left + between + right)[:LONGEST_TEXT]
        if isinstance(node, ast.JoinedStr):
            inner = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
            return "".join(self._join_known(one, depth + 1) for one in inner)[:LONGEST_TEXT]
        return HOLE

    def globs(self) -> list[str]:
        """The patterns that files are looked for by: `glob.glob(".e*")`, `Path().rglob("*.py")`."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call) and node.args]
        found = [
            self.text(one.args[0]) for one in calls
            if (isinstance(one.func, ast.Attribute) and one.func.attr in ("glob", "iglob", "rglob"))
            or {"glob.glob", "glob.iglob"}.intersection(self.meant(one.func))
        ]  # fmt: skip
        return [text for text in found if text is not None]

    def hides(self) -> bool:
        """Whether a file is opened by a name that is decoded from something else, and that could not be followed."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and node.args and self.text(node.args[0]) is None:
                names = self.meant(node.func)
                opens = any(one.endswith(".open") or re.fullmatch(r"pathlib\.\w*Path", one) for one in names)
                if opens and self._decodes(node.args[0]):
                    return True
        return False

    def _decodes(self, node: ast.expr, depth: int = 0) -> bool:
        for one in islice(ast.walk(node), 200):
            name = one.attr if isinstance(one, ast.Attribute) else one.id if isinstance(one, ast.Name) else ""
            if name in DECODERS or (isinstance(one, ast.Attribute) and "codecs.decode" in self.meant(one)):
                return True
            values = self.assigned.get(name, ())[:4] if isinstance(one, ast.Name) and depth < 4 else ()
            if any(self._decodes(value, depth + 1) for value in values):
                return True
        return False

    def paths(self) -> Iterator[tuple[str, bool]]:
        """Texts that are put together, and whatever is written to."""
        for node in self.nodes:
            if isinstance(node, (ast.BinOp, ast.JoinedStr, ast.Subscript)):
                if (text := self.text(node)) is not None:
                    yield text, False
                elif (parted := self._join_known(node)) != HOLE:
                    yield parted, False
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
                first = self.assigned.get(node.target.id, [node.value])[0]
                yield (self._join_known(first) + self._join_known(node.value))[:LONGEST_TEXT], False
            elif isinstance(node, ast.Call):
                if not isinstance(node.func, ast.Name) and (text := self.text(node)) is not None:
                    yield text, False
                yield from ((text, True) for one in self._written(node) if (text := self.text(one)) is not None)

    def spelled_texts(self, code: str) -> Iterator[str]:
        """Texts that the code spells in another way (`"\\x2eenv"`), or makes of numbers."""
        for node in self.nodes:
            if isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                text = self.text(node)
                if text and len(text) > 1 and text not in code:
                    yield text

    def _written(self, call: ast.Call) -> list[ast.expr]:
        """The arguments that a call writes to."""
        attribute = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        names = self.meant(call.func)
        opens = any(one in ("builtins.open", "io.open", "codecs.open", "os.open") for one in names)
        if opens or attribute == "open":
            at = 0 if attribute == "open" and not opens else 1
            mode = next((one.value for one in call.keywords if one.arg == "mode"), None)
            mode = mode if mode is not None else (call.args[at] if len(call.args) > at else None)
            told = self.text(mode) if mode is not None else "r"
            if told is not None and not _WRITING.search(told):
                return []
            file = next((one.value for one in call.keywords if one.arg == "file"), None)
            if isinstance(call.func, ast.Attribute) and not opens:
                return [call.func.value]
            return [file] if file is not None else call.args[:1]
        if attribute in _PATH_WRITERS and isinstance(call.func, ast.Attribute):
            return [call.func.value]
        if _SAVES.fullmatch(attribute):
            return call.args[:1]
        if attribute in ("extractall", "extract"):
            into = next((one.value for one in call.keywords if one.arg == "path"), None)
            return [into] if into is not None else call.args[-1:]
        targets = next((_TARGETS[one] for one in names if one in _TARGETS), ())
        return [call.args[at] for at in targets if at < len(call.args)]

    # ── what it would do ───────────────────────────────────────────────────────────────────────────────────────────

    def findings(self) -> Iterator[tuple[str, str]]:
        """What of the code is a matter for a person."""
        cloud = not _CLOUDS.isdisjoint(self.roots)
        guarded = self._looked_up()
        for node in self.nodes:
            if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and not (
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ):
                for name in self.meant(node):
                    yield from self._by_name(name, node, guarded)
            if isinstance(node, ast.Call):
                yield from self._by_call(node, cloud)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.search(node.value):
                yield "destroys", node.value.strip()[:40]
            elif isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    if found := _MEANS.fullmatch(f"{node.module}.{one.name}"):
                        yield str(found.lastgroup), f"{node.module}.{one.name}"

    def _looked_up(self) -> set[int]:
        """`os.environ` where one variable is asked for that is no secret: `os.environ["HOME"]`."""
        found: set[int] = set()
        for node in self.nodes:
            key: ast.expr | None = None
            owner: ast.expr | None = None
            if isinstance(node, ast.Subscript):
                owner, key = node.value, node.slice
                if isinstance(node.ctx, ast.Store):
                    found.add(id(owner))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                owner, key = node.func.value, node.args[0]
                found.update((id(node.func),) if node.func.attr in ("get", "setdefault", "pop") else ())
                if node.func.attr == "update":
                    found.add(id(owner))
            elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
                found.add(id(node.comparators[0]))
            elif isinstance(node, ast.Assign):
                found.add(id(node.value))  # what is done with it afterwards counts
            if owner is not None and key is not None:
                text = self.text(key)
                if text is not None and not SECRET_NAME.search(text):
                    found.add(id(owner))
        return found

    def _by_name(self, name: str, node: ast.AST, guarded: set[int]) -> Iterator[tuple[str, str]]:
        if found := _MEANS.fullmatch(name):
            called = node.func if isinstance(node, ast.Call) else None
            if not (name in ("builtins.exec", "builtins.eval") and called is None and id(node) in self.called):
                yield str(found.lastgroup), name
        elif name in ("os.environ", "os.environb") and id(node) not in guarded:
            yield "credentials", name

    def _by_call(self, call: ast.Call, cloud: bool) -> Iterator[tuple[str, str]]:
        names = self.meant(call.func)
        attribute = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        for name in names:
            yield from self._code_given(name, call)
            yield from self._sent(name, call)
            if (
                name == "os.getenv"
                and call.args
                and ((text := self.text(call.args[0])) is None or SECRET_NAME.search(text))
            ):
                yield "credentials", name
            if name.startswith("sys.path.") and any(
                (text := self.text(one)) is not None and text.startswith(("/tmp", "/var/tmp", "/dev/shm", "http"))
                for one in call.args
            ):
                yield "runs", name
        if not attribute:
            return
        if attribute in ("__subclasses__", "attrgetter", "methodcaller"):
            yield "runs", f".{attribute}("
        own = not any(name.partition(".")[0].removesuffix("()") in stdlib_module_names for name in names)
        if own and attribute in _METHODS:
            yield _METHODS[attribute], f".{attribute}("
        if (
            attribute == "rename"
            and not names
            and "pathlib" in self.roots
            and len(call.args) == 1
            and not call.keywords
        ):
            yield "destroys", ".rename("
        if attribute == "delete" and not call.args and not call.keywords:
            yield "destroys", ".delete()"
        if cloud and _CLOUD_CHANGES.fullmatch(attribute) and (not names or names[0].partition(".")[0] in _CLOUDS):
            yield "publishes", f".{attribute}("
        if not names and attribute in _CHANGING:
            address = self.text(call.args[0]) if call.args else None
            if address is not None and "://" in address and not _LOCAL.match(address):
                yield "publishes", f".{attribute}("
        if attribute == "request" and call.args and self.text(call.args[0]) in {"POST", "PUT", "PATCH", "DELETE"}:
            yield "publishes", f".request({self.text(call.args[0])}"
        if attribute in ("connect", "connect_ex", "sendto") and call.args and isinstance(call.args[-1], ast.Tuple):
            host = self.text(call.args[-1].elts[0]) if call.args[-1].elts else None
            if host is None or not (_LOCAL.match(host) or host == ""):
                yield "publishes", f".{attribute}("

    def _code_given(self, name: str, call: ast.Call) -> Iterator[tuple[str, str]]:
        """Code in a text, as `exec` and `timeit` take it."""
        if name not in ("builtins.exec", "builtins.eval", "builtins.compile", "timeit.timeit", "timeit.repeat",
                        "cProfile.run", "profile.run"):  # fmt: skip
            return
        for given in [*call.args[:2], *(one.value for one in call.keywords)]:
            text = self.text(given)
            inside = _read(text, self.depth + 1) if text is not None and self.depth < 3 else None
            if inside is not None:
                yield from inside.findings
            hidden = inside is None or fetches(given)
            if hidden and name.startswith("builtins.") and given is (call.args or [None])[0]:
                yield ("network" if fetches(given) else "runs"), f"{name.removeprefix('builtins.')}("

    def _sent(self, name: str, call: ast.Call) -> Iterator[tuple[str, str]]:
        """Data that goes to another machine."""
        address = self.text(call.args[0]) if call.args else None
        module, _, last = name.rpartition(".")
        keywords = {one.arg for one in call.keywords}
        method = next((self.text(one.value) for one in call.keywords if one.arg == "method"), None)
        if any(name.startswith(f"{web}.") for web in _WEB) and "DELETE" in (last.upper(), address, method):
            yield "destroys", name  # on this machine too
            return
        if address is not None and _LOCAL.match(address):
            return
        if any(name.startswith(f"{web}.") for web in _WEB) and last in _CHANGING and not module.endswith("client"):
            verb = address if last in ("request", "stream") else "POST"
            url = self.text(call.args[1]) if last in ("request", "stream") and len(call.args) > 1 else None
            if verb not in ("GET", "HEAD", "OPTIONS") and not (url is not None and _LOCAL.match(url)):
                yield "publishes", name
        elif name in ("urllib.request.urlopen", "urllib.request.Request") and (
            len(call.args) > 1 or "data" in keywords or "method" in keywords
        ):
            yield "publishes", name
        elif name in ("socket.create_connection", "asyncio.open_connection"):
            first = call.args[0] if call.args else None
            host = self.text(first.elts[0] if isinstance(first, ast.Tuple) and first.elts else first) if first else None
            if host is None or not _LOCAL.match(host):
                yield "publishes", name
        elif name in _GETTERS and call.args and address is None and reads_file(call.args[0]):
            yield "publishes", name


def _attribute(owner: str, name: str) -> str:
    """`owner.name`, with modules that are reached through another one in their own place."""
    if owner in ("builtins", "") or owner.endswith("__builtins__"):
        return f"builtins.{name}" if name in _BUILTINS or name == "*" else name
    if name.strip("_") in ("os", "sys", "subprocess", "shutil", "builtins"):  # `shutil.os.system`
        return name.strip("_")
    return f"{owner}.{name}"


# ── expressions ──
# Expressions of Python's syntax: the numbers, characters and texts that they stand for, and what is in them.

LONGEST_TEXT = 4096
"""Characters of a text that is put together: what would be longer is no path, and may be made to fill the memory."""
CHANGED_BY = frozenset(
    ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "lower", "upper", "swapcase", "title", "capitalize")
)
DECODERS = frozenset(
    ("b64decode", "b32decode", "b85decode", "a85decode", "fromhex", "unhexlify", "chr", "bytes", "bytearray",
     "translate", "maketrans", "decompress", "rot13", "reversed", "unpack", "to_bytes")
)  # fmt: skip


def characters_of(node: ast.expr) -> str:
    """Characters by their numbers: a list of them, `map(chr, […])`, `(chr(n) for n in […])`; "" where there is more."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map" and len(node.args) == 2:
        node = node.args[1]
    elif isinstance(node, (ast.GeneratorExp, ast.ListComp)) and len(node.generators) == 1:
        if ast.unparse(node.elt) != f"chr({ast.unparse(node.generators[0].target)})" or node.generators[0].ifs:
            return ""
        node = node.generators[0].iter
    if not isinstance(node, (ast.List, ast.Tuple)) or len(node.elts) > LONGEST_TEXT:
        return ""
    numbers = [number_of(one) for one in node.elts]
    return "".join(chr(one) for one in numbers if one is not None and 0 <= one < 0x11000) if None not in numbers else ""


def number_of(node: ast.expr) -> int | None:
    """A number that is written out, also a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def join_texts(parts: list[str | None], between: str) -> str | None:
    texts = [one for one in parts if one is not None]
    if len(texts) < len(parts) or sum(map(len, texts)) + len(between) * len(texts) > LONGEST_TEXT:
        return None
    if between == "/" and any(one.startswith(("/", "~")) for one in texts[1:]):
        texts = texts[max(at for at, one in enumerate(texts) if one.startswith(("/", "~"))) :]
    return between.join(one.rstrip("/") if between == "/" and one != "/" else one for one in texts)


def fetches(node: ast.expr) -> bool:
    """Whether what an expression gives comes from the network, or is hidden in another spelling."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in ("urlopen", "get", "b64decode", "fromhex", "read", "content")
        for one in ast.walk(node)
    )


def reads_file(node: ast.expr) -> bool:
    """Whether a file stands in an expression."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr in ("read", "read_text", "read_bytes", "environ", "getenv"))
        or (isinstance(one, ast.Name) and one.id == "open")
        for one in ast.walk(node)
    )
