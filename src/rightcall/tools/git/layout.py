"""What of a repository may be handed to git: objects, refs and reflogs, as long as they are real files and folders of
the repository. A link could lead anywhere, so there is none in what is handed on; everything else stays behind."""

import os
import re
import stat
from collections.abc import Iterable
from errno import ELOOP
from hashlib import sha256

from msgspec import Struct, field

from rightcall.base.files.sight import O_PATH, open_beneath, open_true
from rightcall.base.files.write import closing
from rightcall.errors import ToolFailure
from rightcall.tools.git.repository import Repository, small_file
from rightcall.tools.process import program, search_path

# ── pins ──
# A git directory held open. Whoever can write to the folders around it could swap one for a link while git is at work;
# what is reached through these descriptors stays what was found here.

_COMMON = ("objects", "objects/pack", "refs", "logs", "reftable")
_NEEDED = ("objects", "refs")
"""What no repository is without: to go by their names later would be to follow whatever is swapped in."""
_HERE = "/proc/self/fd"


class Pins:
    """The folders of a repository by path, in our process and in a program that is given `fds`. On systems where a
    descriptor is no path the folders go by their names."""

    def __init__(self, repository: Repository) -> None:
        self.fds: tuple[int, ...] = ()
        self._held: dict[str, int] = {}
        self._links: set[str] = set()
        self._names = {"own": repository.git_dir, "common": repository.common_dir}
        if not O_PATH or not os.path.isdir(_HERE):
            return
        try:
            self._hold("own", (repository.git_dir, *_below(repository.git_dir, ("logs",))))
            self._hold("common", (repository.common_dir, *_below(repository.common_dir, _COMMON)))
        except OSError:
            self.close()
            raise ToolFailure("The git repository cannot be opened, or is being changed right now") from None
        self.fds = tuple(self._held.values())

    def own(self, name: str = "") -> str:
        """The path of something in the git directory itself."""
        return self._path("own", name)

    def common(self, name: str = "") -> str:
        """The same in the one that linked worktrees share."""
        return self._path("common", name)

    @property
    def tops(self) -> tuple[int, ...]:
        """The two git directories themselves, held open."""
        return tuple(fd for path, fd in self._held.items() if path.partition(":")[2] in self._names.values())

    def current(self) -> bool:
        """Whether the names still lead to what is held."""
        return all(map(os.path.islink, self._links)) and all(
            _same(fd, path.partition(":")[2]) for path, fd in self._held.items()
        )

    def open_common(self, name: str) -> int:
        """A folder of the shared git directory, open for reading; no link was followed to it. Raises OSError."""
        held = self._held.get(f"common:{os.path.join(self._names['common'], name)}")
        with closing(os.dup(held) if held is not None else open_true(os.path.join(self._names["common"], name))) as fd:
            return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)

    def close(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])

    def __del__(self) -> None:
        self.close()

    def _hold(self, side: str, paths: Iterable[str]) -> None:
        with closing(os.open("/", O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as top:
            for path in paths:
                try:
                    self._held[f"{side}:{path}"] = open_beneath(top, path.lstrip("/"), O_PATH | os.O_DIRECTORY)
                except OSError as error:
                    if path in (self._names[side], *_below(self._names[side], _NEEDED)):
                        raise  # what may be missing are others inside
                    if error.errno == ELOOP:
                        self._links.add(path)

    def _path(self, side: str, name: str) -> str:
        """Through the innermost folder that is held; `/.` since the descriptor's own name is a link."""
        whole = os.path.join(self._names[side], name) if name else self._names[side]
        if any(f"{whole}/".startswith(f"{link}/") for link in self._links):
            return f"/nonexistent{whole}"
        inside = ""
        folder = whole
        while len(folder) >= len(self._names[side]):
            fd = self._held.get(f"{side}:{folder}")
            if fd is not None:
                return f"{_HERE}/{fd}/.{inside}"
            folder, _, last = folder.rpartition("/")
            inside = f"/{last}{inside}"
        return whole


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names]


def _same(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False


# ── cache ──
# Where commit graphs of our own are kept: outside every repository, in the user's cache, believed only if they are
# ours.


def graph_folder(repository: Repository) -> str:
    """The folder for the graph of a repository: another one when the repository has moved or has been made anew."""
    objects = os.path.join(repository.common_dir, "objects")
    try:
        seen = os.lstat(objects)
        key = f"{seen.st_dev}:{seen.st_ino}:{objects}"
    except OSError:
        key = objects
    return os.path.join(_graphs(), sha256(key.encode(errors="surrogateescape")).hexdigest()[:40])


def graph_file(repository: Repository) -> str:
    return os.path.join(graph_folder(repository), "commit-graph")


def is_ours(graph: str) -> bool:
    """Whether a graph is a real file that nobody but us can have written, in folders for which the same holds."""
    folder = os.path.dirname(graph)
    graphs = os.path.dirname(folder)
    return _ours(graph, stat.S_IFREG) and all(
        _ours(path, stat.S_IFDIR) for path in (folder, graphs, os.path.dirname(graphs))
    )


def _ours(path: str, kind: int) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return stat.S_IFMT(seen.st_mode) == kind and seen.st_uid == os.geteuid() and not seen.st_mode & 0o022


def _graphs() -> str:
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "rightcall", "graphs")


# ── settings ──
# What git is told about the world: a configuration and an environment of our own, with everything off that could run
# a program, ask somebody, or read a file that nobody named.

_LARGEST_PIECE = "512m"
"""The most memory that git asks for at once: larger files are not read."""
OWN = ".own"
"""A folder inside the private git directory for what must not be found under its usual name: git takes any file there
for a ref of that name."""


def config(*, sha256: bool, reftable: bool) -> str:
    """The only configuration that git sees: `config.ini`, and how this repository keeps its objects and refs."""
    with open(os.path.join(os.path.dirname(__file__), "config.ini"), encoding="utf-8") as stream:
        text = stream.read() + f"[core]\n\trepositoryformatversion = {1 if sha256 or reftable else 0}\n"
    if sha256 or reftable:
        text += "[extensions]\n"
    if sha256:
        text += "\tobjectFormat = sha256\n"
    if reftable:
        text += "\trefStorage = reftable\n"
    return text


def git_program(root: str) -> str:
    """The git that is installed, by its whole path: none that lies below the root."""
    found = program("git", root)
    if found is None:
        raise ToolFailure(
            "git is not installed on this machine: code/diff, code/log, code/blame and code/show need it, and so does "
            "whatever works on branches and pull requests"
        )
    return found


class Files(Struct, frozen=True):
    """An index, the files that belong to it, and where objects lie that only it knows of."""

    index: str
    work_tree: str = ""
    objects: str = ""


def environment(private: str, root: str, files: Files | None) -> dict[str, str]:
    """All that git has of an environment. Nothing of the caller's is handed on. Without files there is an empty work
    tree, and no index."""
    own = os.path.join(private, OWN)
    made: dict[str, str] = {}
    if files is not None and files.objects:
        made["GIT_OBJECT_DIRECTORY"] = files.objects
        made["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.path.join(private, "objects")
    return made | {
        "PATH": search_path(git_program(root), root),
        "HOME": "/nonexistent",
        "XDG_CONFIG_HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "GIT_DIR": private,
        "GIT_WORK_TREE": (files.work_tree if files is not None else "") or os.path.join(own, "empty"),
        "GIT_INDEX_FILE": os.path.join(own, "none") if files is None else files.index,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.path.join(own, "none"),
        "GIT_SHALLOW_FILE": os.path.join(own, "shallow"),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "false",
        "GIT_SSH_COMMAND": "false",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_ALLOC_LIMIT": _LARGEST_PIECE,
    }


_DEEPEST = 40
_FAN_OUT = [f"{number:02x}" for number in range(256)]
_ID = re.compile(rb"([0-9a-f]{64}|[0-9a-f]{40})\s")
_BRANCH = re.compile(rb"ref:\s*(refs/[^\0-\x20\x7f~^:?*\[\\]+)")
PSEUDO = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_HEAD", "FETCH_HEAD")

Stamp = tuple[int, ...]


class Listing(Struct, frozen=True):
    """A folder as it was: real files and folders, and whether that is all there was."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    pure: bool


class Layout(Struct):
    """What the private git directory is to hold: links to real files and folders, folders of its own around them, and
    small files as they are written. `stamps` tells when it is out of date."""

    links: dict[str, str] = field(default_factory=dict[str, str])
    folders: list[str] = field(default_factory=list[str])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    stamps: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    sha256: bool = False
    reftable: bool = False

    def current(self) -> bool:
        """Whether nothing has been added, removed or replaced since."""
        return all(stamp(path) == was for path, was in self.stamps.items())


def stamp(path: str) -> Stamp:
    """How a file or folder looks; of no length when there is none."""
    try:
        seen = os.lstat(path)
    except OSError:
        return ()
    return seen.st_mode, seen.st_ino, seen.st_dev, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


class Surveyor:
    """Draws the layout of one repository; folders that look as before are not listed again."""

    def __init__(self, repository: Repository, pins: Pins, *, with_graph: bool = True) -> None:
        self._repository = repository
        self._pins = pins
        self._with_graph = with_graph
        self._known: dict[str, tuple[Stamp, Listing]] = {}
        self._clean: dict[str, Stamp] = {}
        self._layout = Layout()

    def survey(self) -> Layout:
        """The layout as of now. Raises ToolFailure when it is no repository that git could read."""
        layout = self._layout = Layout()
        own, common = self._pins.own, self._pins.common
        self._objects()
        self._tree(common("refs"), "refs")
        if self._is_real(common("logs")):
            self._tree(common("logs/refs"), "logs/refs")
        if self._is_real(own("logs")):
            self._file(own("logs/HEAD"), "logs/HEAD")
        self._file(common("packed-refs"), "packed-refs")
        self._file(common("shallow"), f"{OWN}/shallow")
        self._reftable(common("reftable"))
        self._graph()
        self._heads(own())
        layout.sha256 = self._is_sha256()
        return layout

    def _heads(self, git_dir: str) -> None:
        """HEAD and its like are parsed here and written anew, so that nothing else can stand in them."""
        layout = self._layout
        for name in ("HEAD", *PSEUDO):
            path = os.path.join(git_dir, name)
            layout.stamps[path] = stamp(path)
            content = small_file(path, 1 << 20) if layout.stamps[path] else None
            if content is None:
                continue
            if found := _ID.match(content + b"\n"):
                layout.files[name] = found[1] + b"\n"
            elif name == "HEAD" and (found := _BRANCH.match(content)) and b".." not in found[1]:
                layout.files[name] = b"ref: " + found[1] + b"\n"
        if "HEAD" not in layout.files:
            raise ToolFailure("The git repository is damaged: its HEAD names neither a branch nor a commit")

    def _reftable(self, folder: str) -> None:
        """The newer way to keep refs. HEAD is in there as well."""
        looks = self._layout.stamps[folder] = stamp(folder)
        if looks and stat.S_ISDIR(looks[0]):
            self._layout.reftable = True
            self._tree(folder, "reftable")

    def _graph(self) -> None:
        path = graph_file(self._repository)
        self._layout.stamps[path] = stamp(path)
        if self._with_graph and is_ours(path):
            self._layout.links["objects/info/commit-graph"] = path

    def _objects(self) -> None:
        folder = self._pins.common("objects")
        self._layout.folders += ["objects", "objects/info"]
        if not self._is_real(folder):
            return
        listing = self._listing(folder)
        present = frozenset(listing.folders) | frozenset(listing.files)
        for name in ("pack", *_FAN_OUT):
            path = self._pins.common("objects/pack") if name == "pack" else os.path.join(folder, name)
            if name in present or not listing.pure:
                self._flat(path, f"objects/{name}")
            else:  # a commit that is made while git runs may bring it
                self._layout.links[f"objects/{name}"] = path

    def _is_real(self, folder: str) -> bool:
        """A folder, or nothing at all so far."""
        looks = self._layout.stamps[folder] = stamp(folder)
        return not looks or stat.S_ISDIR(looks[0])

    def _flat(self, folder: str, name: str) -> None:
        """A folder of files: handed on as a whole if they are all real, else one by one."""
        looks = self._layout.stamps[folder] = stamp(folder)
        if self._clean.get(folder) != looks:
            self._clean.pop(folder, None)
            if looks and not (stat.S_ISDIR(looks[0]) and _only_files(folder)):
                self._layout.folders.append(name)
                for file in self._listing(folder).files:
                    self._layout.links[f"{name}/{file}"] = os.path.join(folder, file)
                return
            self._clean[folder] = looks
        self._layout.links[name] = folder

    def _tree(self, folder: str, name: str) -> None:
        """The same with folders inside."""
        if self._all_real(folder, _DEEPEST):
            self._layout.links[name] = folder
        else:
            self._one_by_one(folder, name, _DEEPEST)

    def _one_by_one(self, folder: str, name: str, depth: int) -> None:
        listing = self._listing(folder)
        self._layout.folders.append(name)
        for file in listing.files:
            self._layout.links[f"{name}/{file}"] = os.path.join(folder, file)
        for inner in listing.folders if depth else ():
            self._one_by_one(os.path.join(folder, inner), f"{name}/{inner}", depth - 1)

    def _all_real(self, folder: str, depth: int) -> bool:
        listing = self._listing(folder)
        return (
            depth > 0
            and listing.pure
            and all(self._all_real(os.path.join(folder, inner), depth - 1) for inner in listing.folders)
        )

    def _file(self, path: str, name: str) -> None:
        self._layout.stamps[path] = looks = stamp(path)
        if not looks or stat.S_ISREG(looks[0]):
            self._layout.links[name] = path

    def _listing(self, folder: str) -> Listing:
        looks = self._layout.stamps[folder] = stamp(folder)
        known = self._known.get(folder)
        if known is not None and known[0] == looks:
            return known[1]
        listing = _listed(folder) if looks and stat.S_ISDIR(looks[0]) else Listing((), (), pure=not looks)
        self._known[folder] = looks, listing
        return listing

    def _is_sha256(self) -> bool:
        """Ids have twice the length then: of HEAD, of its branch, of any object."""
        head = self._layout.files["HEAD"]
        if head.startswith(b"ref: "):
            head = small_file(self._pins.common(os.fsdecode(head[5:].strip()))) or b""
        if found := _ID.match(head):
            return len(found[1]) == 64
        objects = self._pins.common("objects")
        for name in self._listing(objects).folders:
            if name == "pack" or name in _FAN_OUT:
                for file in _listed(os.path.join(objects, name)).files:
                    digits = len(file.partition(".")[0].removeprefix("pack-"))
                    if digits in (38, 40, 62, 64):
                        return digits > 60
        return False


def _listed(folder: str) -> Listing:
    files: list[str] = []
    folders: list[str] = []
    pure = True
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    pure = False
    except OSError:
        pure = False
    return Listing(tuple(files), tuple(folders), pure)


def _only_files(folder: str) -> bool:
    """The same question for thousands of objects, without their names."""
    try:
        with os.scandir(folder) as entries:
            return not [entry for entry in entries if not entry.is_file(follow_symlinks=False)]
    except OSError:
        return False
