"""Charts: code in the sandbox may draw with the plotting library that was installed beside RightCall (extra `charts`).

The interpreter inside is the one that ours was made from, which does not have our packages. So the library and what it
needs are lent to a program that names one of them: their folders can be read, and their names be imported; nothing else
that is installed here is shown.

    installed distributions ─▶ Lent(packages, visible) ─▶ Job ─▶ a finder inside (`inside/child.py`)
    one run of ours: the fonts of this machine ─▶ a file in the scratch folder of each program that draws

Looking at a font takes milliseconds, and a program has few seconds for hundreds of them: it is done once for a sandbox,
by a program of our own, and kept in memory.
"""

import os
import re
import struct
import sys
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Final, Literal, NoReturn
from weakref import WeakKeyDictionary
from xml.parsers import expat

from msgspec import Struct
from msgspec.structs import replace

from rightcall.tools.sandbox.conversation import PLACE, Job, Limits, NoSandbox, code_for
from rightcall.tools.sandbox.inside.wire import is_open_to_all, is_root
from rightcall.tools.sandbox.sandbox import Sandbox

LIBRARY: Final = "matplotlib"
FOLDER: Final = ".matplotlib"
"""In the scratch folder: the library's own, with the list of fonts. It is never part of a result."""
MISSING: Final = (
    f"{LIBRARY} is not available in this sandbox. Do not try to install it. Print the figures as text, or write an SVG "
    "file without it."
)
_CANVAS: Final = "rightcall_canvas"
_CANVAS_FILE: Final = os.path.join(os.path.dirname(__file__), "inside", "canvas.py")
"""What the library draws on inside."""
_FONT_SETTINGS: Final = "/etc/fonts"
"""Without them the system's list of fonts complains."""
_IMPORT = re.compile(rb"\b(?:import|from|import_module\(|__import__\()([^\n;#]*)")
_WORD = re.compile(rb"[A-Za-z_]\w*", re.ASCII)
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ENDED_FOR_WANT = re.compile(rf"^ModuleNotFoundError: No module named '{LIBRARY}(?:\.[\w.]*)?'", re.M)
_FONTS = f"""
import os, sys
import {LIBRARY}
from {LIBRARY} import font_manager
folder = {LIBRARY}.get_cachedir()
for name in os.listdir(folder):
    if name.startswith("fontlist"):
        sys.stdout.write(name + "\\n")
        sys.stdout.write(open(os.path.join(folder, name), encoding="utf-8").read())
        break
"""
_FONT_LIMITS = Limits(seconds=20.0, memory=1024, output=20_000_000)
_FONT_NAME = re.compile(r"fontlist[\w.-]{1,40}\.json\Z")


class Lent(Struct, frozen=True):
    """What a program may import: where each package or module is, by its name; and what else it needs to see."""

    packages: Mapping[str, str]
    visible: tuple[str, ...]


def library_version() -> str:
    """Of the library that can be lent; "" where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(LIBRARY)
    except PackageNotFoundError:
        return ""


def lend_library(job: Job, sources: Iterable[bytes], sandbox: Sandbox) -> Job:
    """The job of a Python program, with the library where one of its files names a part of it."""
    wanted = _imported(sources)
    if not wanted or not _is_ours(sandbox):
        return job
    lent = lent_packages()
    if lent is None or not wanted & lent.packages.keys():
        return job
    if not all(map(os.path.exists, lent.visible)) or not _can_be_reached(lent, sandbox):
        return job
    return replace(job, packages=lent.packages, visible=(*job.visible, *lent.visible), env={**job.env, **_VARIABLES})


_VARIABLES: Final = {
    "MPLBACKEND": f"module://{_CANVAS}",
    "OPENBLAS_NUM_THREADS": "1",  # one thread for each core would be too many processes
    "OMP_NUM_THREADS": "1",
}


def _imported(sources: Iterable[bytes]) -> set[str]:
    """Names that stand behind an `import` and are not the standard library's; some of them may be no packages."""
    found = {word.decode() for text in sources for after in _IMPORT.findall(text) for word in _WORD.findall(after)}
    return found - sys.stdlib_module_names - {"as", "import"}


def draws(sources: Iterable[bytes]) -> bool:
    return any(LIBRARY.encode() in text for text in sources)


def is_missing(stderr: str) -> bool:
    """Whether a program ended since the library is not there."""
    return _ENDED_FOR_WANT.search(stderr) is not None


def _is_ours(sandbox: Sandbox) -> bool:
    """Whether the interpreter inside is the one that our packages were made for."""
    return sandbox.python == (getattr(sys, "_base_executable", "") or sys.executable)


def _can_be_reached(lent: Lent, sandbox: Sandbox) -> bool:
    """Where nothing can be mounted, the user that root's programs run as must get there."""
    return not (sandbox.tier() == "landlock" and is_root()) or all(map(is_open_to_all, lent.visible))


@lru_cache(1)
def lent_packages() -> Lent | None:
    """The library and all that it requires, as far as it is installed; None without the library itself."""
    if not library_version():
        return None
    found: dict[str, str] = {}
    for name in _required(LIBRARY):
        found |= dict(_entries(name))
    packages = {_import_name(entry): path for entry, path in found.items() if _import_name(entry).isidentifier()}
    settings = (_FONT_SETTINGS,) if os.path.isdir(_FONT_SETTINGS) else ()
    return Lent({**packages, _CANVAS: _CANVAS_FILE}, (*found.values(), _CANVAS_FILE, *settings))


def _required(library: str) -> list[str]:
    """Names of distributions, each once; what only an extra needs is not among them."""
    from importlib.metadata import PackageNotFoundError, requires

    found: dict[str, None] = {}
    waiting = [library]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            lines = requires(name) or ()
        except PackageNotFoundError:
            continue
        found[name] = None
        wanted = (_REQUIREMENT.match(line) for line in lines if "extra" not in line.partition(";")[2])
        waiting += [match[0].lower() for match in wanted if match is not None]
    return list(found)


def _entries(name: str) -> Iterator[tuple[str, str]]:
    """What a distribution has put into the folder of packages: folders and modules, and libraries beside them."""
    from importlib.metadata import distribution

    installed = distribution(name)
    base = os.path.realpath(str(installed.locate_file("")))
    tops = {file.parts[0] for file in installed.files or () if file.parts}
    for top in sorted(tops):
        path = os.path.join(base, top)
        is_package = os.path.isdir(path) and not top.endswith((".dist-info", ".egg-info")) and top != "__pycache__"
        if top != ".." and (is_package or top.endswith((".py", ".so"))) and os.path.exists(path):
            yield top, path


def _import_name(entry: str) -> str:
    """`six.py` and `_c.cpython-311-x86_64-linux-gnu.so` are imported by their first word; `numpy.libs` is not at all.

    >>> _import_name("six.py"), _import_name("PIL"), _import_name("numpy.libs")
    ('six', 'PIL', 'numpy.libs')
    """
    return entry.partition(".")[0] if entry.endswith((".py", ".so")) else entry


# ── fonts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_lists: "WeakKeyDictionary[Sandbox, dict[str, bytes]]" = WeakKeyDictionary()
_listing = Lock()


def font_files(job: Job, sandbox: Sandbox) -> dict[str, bytes]:
    """What a program that draws finds in its scratch folder, so that it need not look at each font of the machine;
    nothing where that could not be found out."""
    with _listing:
        if sandbox not in _lists:
            _lists[sandbox] = _listed_fonts(job, sandbox)
        return _lists[sandbox]


def with_fonts(job: Job) -> Job:
    return replace(job, env={**job.env, "MPLCONFIGDIR": f"{PLACE}/{FOLDER}"})


def _listed_fonts(job: Job, sandbox: Sandbox) -> dict[str, bytes]:
    """From a run of our own program: what a model wrote has no part in it."""
    said: list[bytes] = []

    def hear(stream: Literal["stdout", "stderr"], part: bytes) -> None:
        if stream == "stdout":
            said.append(part)

    code = code_for("fonts.py", _FONTS.encode(), PLACE)
    own = replace(job, argv=(code.path,), script=code.path, code=code, limits=_FONT_LIMITS)
    try:
        ended = sandbox.run(own, out=hear)
    except NoSandbox:
        return {}
    name, _, content = b"".join(said).partition(b"\n")
    written = name.decode(errors="replace")
    if ended.code != 0 or not _FONT_NAME.match(written):
        return {}
    return {f"{FOLDER}/{written}": content}


# ── drawings ──
# What is handed on as a picture: a PNG that can be unpacked without harm, and an SVG that does nothing but draw.
# Whoever shows an SVG may do more with it than that: run its scripts, follow its addresses, read it as HTML where it is
# put into a page. So one that could is never handed on as a picture.

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_MOST_PIXELS, _LONGEST_SIDE = 50_000_000, 16_384
"""Of a picture that is handed on: whoever shows it must unpack it."""
_MOST_DRAWN: Final = 500_000
"""Elements that an SVG draws, each as often as others refer to it."""
_DEEPEST: Final = 200
_LENGTH = re.compile(r"\s*(\d{1,6}(?:\.\d{1,9})?)\s*(px|pt|in|mm|cm|)\s*\Z", re.ASCII)
_PIXELS: Final = {"": 1.0, "px": 1.0, "pt": 96 / 72, "in": 96.0, "mm": 96 / 25.4, "cm": 96 / 2.54}
_SVG: Final = "http://www.w3.org/2000/svg"
_DRAWING: Final = frozenset(
    ("svg", "g", "defs", "style", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan",
     "textPath", "title", "desc", "metadata", "use", "symbol", "clipPath", "mask", "linearGradient", "radialGradient",
     "stop", "pattern", "marker", "image", "filter", "feGaussianBlur", "feOffset", "feBlend", "feColorMatrix",
     "feComposite", "feFlood", "feMerge", "feMergeNode", "feMorphology", "switch")
)  # fmt: skip
_WORDS: Final = frozenset(("title", "desc", "style"))
"""They hold text only: for HTML what stands in a title or a description is HTML again."""
_GRADIENTS: Final = frozenset(("linearGradient", "radialGradient"))
_CC: Final = frozenset(
    ("Work", "Agent", "License", "license", "permits", "requires", "prohibits", "Reproduction", "Distribution",
     "DerivativeWorks", "Notice", "Attribution", "ShareAlike")
)  # fmt: skip
_DESCRIBING: Final = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": frozenset(("RDF", "Description", "Bag", "Seq", "Alt", "li")),
    "http://purl.org/dc/elements/1.1/": frozenset(
        ("contributor", "coverage", "creator", "date", "description", "format", "identifier", "language", "publisher",
         "relation", "rights", "source", "subject", "title", "type")
    ),
    "http://creativecommons.org/ns#": _CC,
    "http://web.resource.org/cc/": _CC,
}  # fmt: skip
"""What `metadata` may hold, by namespace. A script of HTML would run there too."""
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")
"""Any but those of XML: behind a document type the parser passes over them, and HTML knows two thousand."""
_INNER = re.compile(r"\s*(?:(#[^\s%]*)|data:image/png;base64,([A-Za-z0-9+/=\s]*))?\s*\Z")
_ADDRESS = re.compile(r"url\(", re.IGNORECASE)
_OWN = re.compile(r"url\(\s*(['\"]?)(#[^\s'\"()%]*)\1\s*\)", re.IGNORECASE)
_REACHES = re.compile(r"@import|(?:expression|image|image-set|cross-fade|src)\s*\(|['\"][^'\"]*//|\\", re.IGNORECASE)


class _NotPlain(Exception):
    """It could do something besides drawing, or cannot be read."""


def is_shown(size: tuple[int, int]) -> bool:
    """Whether a picture of that many pixels is handed on."""
    return max(size) <= _LONGEST_SIDE and size[0] * size[1] <= _MOST_PIXELS


def png_size(content: bytes) -> tuple[int, int] | None:
    """Width and height of a whole PNG picture; None for anything else. Nothing of it is unpacked."""
    size: tuple[int, int] | None = None
    pixels = False
    for kind, body, end in _chunks(content):
        if size is None:
            if kind != b"IHDR" or len(body) != 13:
                return None
            width, height = struct.unpack(">II", body[:8])
            if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
                return None
            size = width, height
        pixels |= kind == b"IDAT"
        if kind == b"IEND":
            return size if pixels and end == len(content) else None
    return None


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Kind, body and end of each part whose checksum is right; ends with the first that is not."""
    at = len(SIGNATURE)
    view = memoryview(content)
    while at + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, at)
        end = at + 12 + length
        if end > len(content) or zlib.crc32(view[at + 4 : end - 4]) != struct.unpack_from(">I", content, end - 4)[0]:
            return
        yield content[at + 4 : at + 8], bytes(view[at + 8 : end - 4]), end
        at = end


def svg_size(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None for what is no SVG, or one that does more than draw."""
    reader = _Reader()
    try:
        reader.parse(content)
    except (_NotPlain, expat.ExpatError, ValueError, LookupError):
        return None
    return reader.size


class _Reader:
    """One reading of an SVG: refuses what is not plain, and counts what would be drawn."""

    def __init__(self) -> None:
        self.size: tuple[int, int] | None = None
        self._open: list[str] = []
        self._style: list[str] = []
        self._pixels = 0
        self._gradients: set[str] = set()
        self._owners = [""]
        """References to the open elements that can be referred to, from the outside in; the document itself is ""."""
        self._own: Counter[str] = Counter()
        """By reference: elements that are drawn whenever it is, besides what it refers to in turn."""
        self._refers: dict[str, Counter[str]] = {"": Counter()}

    def parse(self, content: bytes) -> None:
        if _ENTITY.search(content):
            raise _NotPlain
        # it is handed on as UTF-8, whatever it says of itself
        parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        parser.namespace_prefixes = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.StartCdataSectionHandler = self._refuse  # HTML ends one at its first ">"
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._refuse
        parser.ProcessingInstructionHandler = self._refuse
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.Parse(content, True)
        style = "".join(self._style)  # a comment may stand in between
        if any(one not in self._gradients for one in _references(style)):
            raise _NotPlain  # how often a style is used is not known; gradients draw nothing of their own
        self._count()

    def _refuse(self, *_: object) -> NoReturn:
        raise _NotPlain

    def _comment(self, text: str) -> None:
        """For HTML one that begins with ">", or has "--!>" in it, ends there."""
        if "<" in text or ">" in text:
            raise _NotPlain

    def _doctype(self, _name: str, system: str | None, public: str | None, internal: int) -> None:
        """For HTML it ends with its first ">", in quotes too."""
        if internal or ">" in f"{system}{public}":
            raise _NotPlain

    def _begin(self, qualified: str, attributes: dict[str, str]) -> None:
        space, name, prefix = [*qualified.split(" "), "", ""][:3]
        if not self._open:
            if (space, name) != (_SVG, "svg"):
                raise _NotPlain
            self.size = _size(attributes)
        # HTML knows no namespaces: for it a prefix is part of a name, and a name without one is its own
        is_known = name in _DRAWING and not prefix if space == _SVG else self._describes(space, name, prefix)
        if not is_known or len(self._open) >= _DEEPEST or (self._open and self._open[-1] in _WORDS):
            raise _NotPlain
        self._open.append(name)
        own = "#" + attributes["id"] if "id" in attributes else self._owners[-1]
        if "id" in attributes:
            self._refers[self._owners[-1]][own] += 1
            if name in _GRADIENTS:
                self._gradients.add(own)
        self._owners.append(own)
        self._own[own] += 1
        refers = self._refers.setdefault(own, Counter())
        for key, value in attributes.items():
            refers.update(self._checked(key.split(" ")[1 if " " in key else 0].casefold(), value))

    def _describes(self, space: str, name: str, prefix: str) -> bool:
        return bool(prefix) and name in _DESCRIBING.get(space, ()) and "metadata" in self._open

    def _end(self, _name: str) -> None:
        self._open.pop()
        self._owners.pop()

    def _text(self, text: str) -> None:
        if self._open[-1] == "style":
            self._style.append(text)

    def _checked(self, name: str, value: str) -> list[str]:
        """What an attribute refers to within the drawing."""
        if name.startswith("on") or name in ("base", "srcset"):
            raise _NotPlain
        if name in ("href", "src"):
            found = _INNER.match(value)
            if found is None:
                raise _NotPlain
            if found[2] is not None:
                self._embed(found[2])
            return [found[1]] if found[1] else []
        return [] if name in ("resource", "about") else _references(value)

    def _embed(self, data: str) -> None:
        size = png_size(b64decode("".join(data.split()), validate=True))
        self._pixels += size[0] * size[1] if size is not None and is_shown(size) else _MOST_PIXELS + 1
        if self._pixels > _MOST_PIXELS:
            raise _NotPlain

    def _count(self) -> None:
        """Refuses what refers to itself, and what draws too much by referring to what refers to more."""
        waits = Counter(one for refers in self._refers.values() for one in refers)
        times = Counter({"": 1})
        ready, drawn, left = [""], 0, len(self._refers.keys() | waits.keys())
        while ready:
            one = ready.pop()
            left -= 1
            drawn += times[one] * self._own[one]
            if drawn > _MOST_DRAWN:
                raise _NotPlain
            for other, often in self._refers.get(one, Counter()).items():
                times[other] += min(times[one] * often, _MOST_DRAWN + 1)
                waits[other] -= 1
                if not waits[other]:
                    ready.append(other)
        if left:
            raise _NotPlain


def _references(css: str) -> list[str]:
    """What a style refers to within the drawing; refuses one that could reach beyond it."""
    found = [one[2] for one in _OWN.finditer(css)]
    if _REACHES.search(css) or len(found) != len(_ADDRESS.findall(css)):
        raise _NotPlain
    return found


def _size(attributes: dict[str, str]) -> tuple[int, int] | None:
    """As its head says, or its view box; None: it does not say."""
    said = [attributes.get(name, "100%") for name in ("width", "height")]
    found = [one for one in map(_LENGTH.match, said) if one is not None]
    lengths = [float(one[1]) * _PIXELS[one[2]] for one in found]
    if len(lengths) == 2:
        width, height = lengths
    else:
        box = attributes.get("viewBox", "").replace(",", " ").split()
        if len(box) != 4 or len(found) + said.count("100%") < 2:
            return None
        width, height = float(box[2]), float(box[3])
        side = height if said[0] == "100%" else width
        if lengths and side > 0:  # the other side follows
            width, height = width * lengths[0] / side, height * lengths[0] / side
    return (round(width), round(height)) if 1 <= width <= 100_000 and 1 <= height <= 100_000 else None
