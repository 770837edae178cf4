"""What of a repository may be handed to git: objects, refs and reflogs, as long as they are real files and folders of
the repository. A link could lead anywhere, so there is none in what is handed on; everything else stays behind."""

import os
import re
import stat

from msgspec import Struct, field

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.cache import graph_file, is_ours
from rightcall.execute.code.git.pins import Pins
from rightcall.execute.code.git.pointers import small_file
from rightcall.execute.code.git.repository import Repository
from rightcall.execute.code.git.settings import OWN

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
