"""Charts: code in the sandbox may draw with the plotting library that was installed beside RightCall (extra `charts`).

The interpreter inside is the one that ours was made from, which does not have our packages. So the library and what it
needs are lent to a program that names one of them: their folders can be read, and their names be imported; nothing else
that is installed here is shown.

    installed distributions ─▶ Lent(packages, visible) ─▶ Job ─▶ a finder inside (`inside/program.py`)
    one run of ours: the fonts of this machine ─▶ a file in the scratch folder of each program that draws

Looking at a font takes milliseconds, and a program has few seconds for hundreds of them: it is done once for a sandbox,
by a program of our own, and kept in memory.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Final, Literal
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from rightcall.execute.sandbox.inside.owners import is_root
from rightcall.execute.sandbox.inside.places import is_open_to_all
from rightcall.execute.sandbox.languages import PLACE, code_for
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.types import Job, Limits, NoSandbox

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
