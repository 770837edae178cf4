"""A person's own folder as the scratch folder: its files are copied in, and what the program made of them comes back.

Links, pipes and the like stay where they are, on either side. A file comes back whole or not at all: whatever happens
in between, the old file or the new one is there. What somebody else changed in the folder meanwhile is left to them.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import ceil
from secrets import token_hex

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.sandbox.scratch import (
    MEGABYTE,
    MOST_ENTRIES,
    Left,
    Listing,
    Mark,
    ScratchEntry,
    changed,
    given_marks,
    listing,
    make_folder,
    mark_of,
    put,
    read,
    shown_path,
)
from rightcall.execute.sandbox.types import Scratch
from rightcall.fs.beneath import open_beneath

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PART = 1 << 20


class Survey(Struct, frozen=True):
    """What a folder holds that can be copied, before anything runs; `left` is what cannot."""

    files: tuple[ScratchEntry, ...]
    folders: tuple[str, ...]
    left: tuple[Left, ...]
    links: tuple[str, ...] = ()


class Folder:
    """An open folder of the person. `survey`, then `fill`, then, after the program has ended, `bring_back`."""

    def __init__(self, path: str, megabytes: int) -> None:
        """Raises OSError where there is no such folder, ToolFailure where it holds too much."""
        self._name = shown_path(path)
        self.fd = os.open(path, _FOLDER)
        try:
            self.survey = survey(self.fd, path, megabytes)
        except BaseException:
            os.close(self.fd)
            raise
        self._given: Mapping[str, Mark] = {}
        self.missing: list[Left] = []
        """What was not copied in, and why."""
        self.left: list[Left] = []
        """Links and the like, which never come back."""
        self.lost: list[Left] = []
        """What should have come back and did not, and why."""

    def close(self) -> None:
        os.close(self.fd)

    def fill(self, scratch: Scratch) -> None:
        self.missing += self.survey.left
        try:
            for folder in self.survey.folders:
                make_folder(scratch, folder)
            for entry in self.survey.files:
                content = read(self.fd, entry.path, entry.size)
                if content is None:
                    self.missing.append(Left(shown_path(entry.path), "cannot be read"))
                else:
                    put(scratch, entry.path, content, entry.mode & 0o777 | 0o600)
        except OSError as fault:
            why = fault.strerror or str(fault)
            raise ToolFailure(f"{self._name} cannot be copied into the scratch folder: {why}") from fault
        self._given = given_marks(scratch.fd)

    def bring_back(self, scratch: Scratch) -> None:
        """New and changed files replace those in the folder, deleted ones go."""
        now = listing(scratch.fd, owner=scratch.uid)
        self.left += (*now.left, *now.cut)
        copied = {entry.path: entry.mark for entry in self.survey.files if entry.path in self._given}
        back = _Back(self.fd, copied, self.lost)
        if not now.cut:  # else what seems to be gone may be there, beyond the bounds
            for path in sorted(set(self._given) - {entry.path for entry in now.files}):
                back.remove(path)
            back.remove_folders(set(self.survey.folders) - set(now.folders))
        for entry in changed(now, self._given):
            back.replace(scratch.fd, entry)
        back.make_folders(set(now.folders) - set(self.survey.folders))

    def drop_links(self) -> None:
        """Where the program has worked in the folder itself: links and pipes that it made do not stay there, since a
        person may follow them."""
        now = listing(self.fd)
        self.left += (Left(one.path, f"{one.why}; links in there stay") for one in now.cut)
        for path in sorted(set(now.links) - set(self.survey.links)):
            why = "a link, or no regular file"
            try:
                self._unlink(path)
            except OSError as fault:
                why = f"{why}, that stays: {fault.strerror or fault}"
            self.left.append(Left(shown_path(path), why))

    def _unlink(self, path: str) -> None:
        *above, name = path.rsplit("/", 1)
        folder = open_beneath(self.fd, "".join(above), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)


def survey(folder: int, name: str, megabytes: int) -> Survey:
    """Raises ToolFailure where the folder holds more than the scratch folder may."""
    found = listing(folder)
    if not found.whole:
        raise ToolFailure(f"{name} holds more than {MOST_ENTRIES:,} files and folders: too many for a scratch folder")
    files, linked = _without_outside_links(found)
    size = sum(entry.size for entry in files)
    if size > megabytes * MEGABYTE:
        held = ceil(size * 10 / MEGABYTE) / 10
        raise ToolFailure(f"{name} holds {held:,.1f} MB; the scratch folder is limited to {megabytes} MB")
    return Survey(files, found.folders, (*found.left, *found.cut, *linked), found.links)


def _without_outside_links(found: Listing) -> tuple[tuple[ScratchEntry, ...], list[Left]]:
    """A file that also has a name outside the folder is somebody else's too."""
    inside = Counter(entry.mark[0] for entry in found.files)
    shared = [entry for entry in found.files if entry.links > inside[entry.mark[0]]]
    kept = tuple(entry for entry in found.files if entry.links <= inside[entry.mark[0]])
    return kept, [Left(shown_path(entry.path), "also has a name outside the folder") for entry in shared]


class _Back:
    """Writes into the person's folder, and nowhere else: no link in it is followed."""

    def __init__(self, folder: int, before: Mapping[str, Mark], lost: list[Left]) -> None:
        self._folder = folder
        self._before = dict(before)
        self._lost = lost
        about = os.fstat(folder)
        self._owner = (about.st_uid, about.st_gid) if os.geteuid() == 0 else None

    def replace(self, scratch: int, entry: ScratchEntry) -> None:
        try:
            folder, name = self._open_above(entry.path)
        except OSError as fault:
            self._leave(entry.path, fault)
            return
        try:
            if self._is_as_before(folder, name, entry.path):
                with self._going(folder, name):
                    self._put(folder, name, scratch, entry)
        except OSError as fault:
            self._leave(entry.path, fault)
        finally:
            os.close(folder)

    def remove(self, path: str) -> None:
        try:
            folder, name = self._open_above(path, make=False)
        except OSError as fault:
            self._leave(path, fault, FileNotFoundError)
            return
        try:
            if self._is_as_before(folder, name, path):
                with self._going(folder, name):
                    os.unlink(name, dir_fd=folder)
        except OSError as fault:
            self._leave(path, fault, FileNotFoundError)
        finally:
            os.close(folder)

    def make_folders(self, paths: set[str]) -> None:
        for path in sorted(paths):
            try:
                os.close(self._open_above(f"{path}/.")[0])
            except OSError as fault:
                self._leave(path, fault)

    def remove_folders(self, paths: set[str]) -> None:
        """Those that are empty now; others hold something that the program never saw."""
        for path in sorted(paths, reverse=True):
            try:
                folder, name = self._open_above(path, make=False)
            except OSError as fault:
                self._leave(path, fault, FileNotFoundError)
                continue
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as fault:
                if fault.errno != errno.ENOTEMPTY:
                    self._leave(path, fault, FileNotFoundError)
            finally:
                os.close(folder)

    def _put(self, folder: int, name: str, scratch: int, entry: ScratchEntry) -> None:
        beside = f".rightcall-{token_hex(6)}"
        source = open_beneath(scratch, entry.path)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            target = os.open(beside, flags, 0o600, dir_fd=folder)
            try:
                try:
                    _copy(source, target, entry.size)
                    if self._owner is not None:
                        os.fchown(target, *self._owner)
                    os.fchmod(target, entry.mode & 0o777)
                    if entry.path in self._before:
                        os.fsync(target)  # the file it replaces is not lost; thousands of new ones would take long
                finally:
                    os.close(target)
                os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(beside, dir_fd=folder)
                raise
        finally:
            os.close(source)

    def _is_as_before(self, folder: int, name: str, path: str) -> bool:
        """Whether what is there now is what was copied, or nothing where there was nothing."""
        try:
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return True
        known = self._before.get(path)
        if known is not None and stat.S_ISREG(about.st_mode) and mark_of(about) == known:
            return True
        why = "was changed meanwhile by somebody else" if known else "something else of that name is in the way"
        self._lost.append(Left(shown_path(path), why))
        return False

    @contextmanager
    def _going(self, folder: int, name: str) -> Generator[None]:
        """While a name is taken from a file that has others in the folder: that changes the file, and was us."""
        try:
            held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            yield
            return
        try:
            about = os.fstat(held)
            yield
            old, new = mark_of(about), mark_of(os.fstat(held))
            if about.st_nlink > 1 and old[:-1] == new[:-1]:
                self._before.update({path: new for path, mark in self._before.items() if mark == old})
        finally:
            os.close(held)

    def _open_above(self, path: str, *, make: bool = True) -> tuple[int, str]:
        *above, name = path.split("/")
        at = os.dup(self._folder)
        try:
            for part in above:
                try:
                    below = open_beneath(at, part, os.O_RDONLY | os.O_DIRECTORY)
                except FileNotFoundError:
                    if not make:
                        raise
                    os.mkdir(part, dir_fd=at)
                    below = open_beneath(at, part, os.O_RDONLY | os.O_DIRECTORY)
                    if self._owner is not None:
                        os.fchown(below, *self._owner)
                os.close(at)
                at = below
            return at, name
        except BaseException:
            os.close(at)
            raise

    def _leave(self, path: str, fault: OSError, fine: type[OSError] | tuple[()] = ()) -> None:
        if isinstance(fault, fine):
            return
        self._lost.append(Left(shown_path(path), f"cannot be written: {fault.strerror or fault}"))


def _copy(source: int, target: int, size: int) -> None:
    """Holes stay holes: files that took no room inside must not fill the disk here."""
    at = 0
    os.ftruncate(target, size)
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError as fault:
            if fault.errno == errno.ENXIO:  # nothing but holes to its end
                return
            raise
        end = min(os.lseek(source, at, os.SEEK_HOLE), size)
        while at < end and (part := os.pread(source, min(end - at, _PART), at)):
            view = memoryview(part)
            while view:
                done = os.pwrite(target, view, at)
                view, at = view[done:], at + done
