"""Repositories that mean harm. Each has a few honest commits and a changed file, and then a trap of one kind: a program
that would leave a mark if anything ran it, a secret next door that would show, or something that never ends."""

import os
import shutil
import struct
from collections.abc import Callable
from functools import cache
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory

from support.repositories import Made, made

SECRET = "TOP-SECRET-7f3a9c"
TRAPS: dict[str, Callable[["Trap"], None]] = {}
"""Each builds its trap into a fresh repository."""


class Trap:
    """One hostile repository at `root`, its surroundings, and the marks that show harm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.mark = folder / "ran"
        self.canary = folder / "canary.sh"
        self.canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\nexit 0\n')
        self.canary.chmod(0o755)
        self.secret = folder / "secret.txt"
        self.secret.write_text(f"{SECRET}\nsecond {SECRET}\n")
        pristine, self.victim_commit = _pristine()
        shutil.copytree(pristine.name, folder, dirs_exist_ok=True)
        self.victim = Made(folder / "victim")
        self.made = Made(self.root)
        self.made.commits = 3
        self.made.write("a.py", "1\n2\nchanged\n")

    @property
    def git_dir(self) -> Path:
        return self.made.git_dir

    def config(self, *pairs: str) -> None:
        """`name=value` each; `%c` is the program, `%s` the secret file, `%v` the other repository."""
        for pair in pairs:
            name, _, value = pair.partition("=")
            value = value.replace("%c", str(self.canary)).replace("%s", str(self.secret))
            value = value.replace("%v", str(self.victim.folder))
            self.made.git("config", "--local", name, value)

    def replace(self, path: str, target: Path) -> None:
        """Put a link in the place of a file or folder of the git directory."""
        place = self.git_dir / path
        if place.is_dir() and not place.is_symlink():
            place.rename(self.folder / f"was-{path.replace('/', '-')}")
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def loose(self, name: str) -> Path:
        return self.git_dir / "objects" / name[:2] / name[2:]


@cache
def _pristine() -> tuple["TemporaryDirectory[str]", str]:
    """What all of them begin with, made once."""
    folder = TemporaryDirectory()
    secret = made(Path(folder.name) / "victim").commit(SECRET, a__py=f"{SECRET}\n")
    honest = made(Path(folder.name) / "root")
    honest.commit("one", a__py="1\n", b__py="b\n")
    honest.commit("two", a__py="1\n2\n")
    honest.commit("three", a__py="1\n2\n3\n")
    return folder, secret


def trap(function: Callable[[Trap], None]) -> Callable[[Trap], None]:
    TRAPS[function.__name__.replace("_", "-")] = function
    return function


HOOKS = (
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "post-merge",
)
SPRUNG_BY_PLAIN_GIT = frozenset(
    (
        "fsmonitor", "fsmonitor-in-worktree-config", "hooks", "external-diff", "diff-driver-command", "textconv",
        "attributes-file-with-a-driver", "info-attributes-with-a-driver", "clean-filter", "process-filter",
        "lazy-fetch-over-ssh", "signature-program", "ssh-signature-program", "submodule-with-its-own-fsmonitor",
        "included-config",
    )
)  # fmt: skip
"""Those that plain git falls for, which shows that the marks do work."""


def by_config(name: str, *pairs: str, attributes: str = "") -> None:
    """A trap that is only configuration, and perhaps attributes for all files."""

    def build(it: Trap) -> None:
        if attributes:
            it.made.write("a.py", "1\n2\n3\n")
            it.made.write(".gitattributes", attributes)
            it.made.commit("attributes")
            it.made.write("a.py", "1\n2\nchanged\n")
        it.config(*pairs)

    TRAPS[name] = build


by_config("fsmonitor", "core.fsmonitor=%c", "core.fsmonitorHookVersion=2")
by_config("pager", "core.pager=%c", "pager.log=%c", "pager.diff=%c", "pager.show=%c", "pager.blame=%c")
by_config("external-diff", "diff.external=%c")
by_config("trusted-external-diff", "diff.external=%c", "diff.trustExitCode=true")
by_config("diff-driver-command", "diff.x.command=%c", attributes="* diff=x\n")
by_config("textconv", "diff.x.textconv=%c", "diff.x.cachetextconv=true", attributes="* diff=x\n")
by_config("clean-filter", "filter.x.clean=%c", "filter.x.required=true", attributes="* filter=x\n")
by_config("smudge-filter", "filter.x.smudge=%c", attributes="* filter=x\n")
by_config("process-filter", "filter.x.process=%c", attributes="* filter=x\n")
by_config("merge-driver", "merge.x.driver=%c", attributes="* merge=x\n")
by_config("credential-helper", "credential.helper=!%c", "core.askPass=%c")
by_config("aliases", *(f"alias.{name}=!%c" for name in ("log", "show", "diff", "blame", "cat-file", "rev-parse")))
by_config("included-secret", "include.path=%s")
by_config("elsewhere-for-a-work-tree", "core.worktree=%v")
by_config("excludes-file", "core.excludesFile=%s")
by_config("ignored-revisions-file", "blame.ignoreRevsFile=%s")
by_config("mailmap-file", "mailmap.file=%s", "log.mailmap=true")
by_config("order-file", "diff.orderFile=%s")
by_config("editors", "core.editor=%c", "sequence.editor=%c")
by_config("git-proxy", "core.gitProxy=%c", "core.sshCommand=%c")
by_config("pack-hooks", "uploadpack.packObjectsHook=%c", "uploadpack.hideRefs=refs", "receive.procReceiveRefs=refs")
by_config("colours", "color.ui=always", "color.diff=always", "color.diff.new=red reverse")
by_config(
    "formats", "format.pretty=fuller", "log.decorate=full", "diff.noprefix=true", "diff.wordRegex=.", "log.follow=true"
)
by_config("stat-only-refresh", "diff.autoRefreshIndex=true", "core.untrackedCache=true")
by_config("unknown-extension", "core.repositoryformatversion=1", "extensions.nobodyKnows=true")


@trap
def hooks(it: Trap) -> None:
    other = it.folder / "hooks"
    for folder in (other, it.git_dir / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_bytes(it.canary.read_bytes())
            (folder / name).chmod(0o755)
    it.config(f"core.hooksPath={other}", "core.fsmonitor=.git/hooks/fsmonitor-watchman")


@trap
def fsmonitor_in_worktree_config(it: Trap) -> None:
    it.config("core.repositoryformatversion=1", "extensions.worktreeConfig=true")
    (it.git_dir / "config.worktree").write_text(f"[core]\n\tfsmonitor = {it.canary}\n")


@trap
def included_config(it: Trap) -> None:
    it.made.write("conf/x.inc", f"[core]\n\tfsmonitor = {it.canary}\n")
    it.config("include.path=../conf/x.inc", "includeIf.gitdir:**.path=../conf/x.inc")


@trap
def config_that_is_a_link_to_a_secret(it: Trap) -> None:
    it.replace("config", it.secret)


@trap
def attributes_file_with_a_driver(it: Trap) -> None:
    attributes = it.folder / "attributes"
    attributes.write_text("* diff=x\n")
    it.config(f"core.attributesFile={attributes}", "diff.x.textconv=%c", "diff.x.command=%c")


@trap
def info_attributes_with_a_driver(it: Trap) -> None:
    (it.git_dir / "info").mkdir(exist_ok=True)
    (it.git_dir / "info/attributes").write_text("* diff=x filter=x\n")
    it.config("diff.x.textconv=%c", "filter.x.clean=%c")


@trap
def attributes_that_are_a_link_to_a_secret(it: Trap) -> None:
    (it.root / ".gitattributes").symlink_to(it.secret)
    it.made.commit("link")
    it.made.write("a.py", "changed\n")


@trap
def lazy_fetch_over_ssh(it: Trap) -> None:
    blob = it.made.git("rev-parse", "HEAD~1:a.py")
    it.loose(blob).unlink()
    it.config(
        "core.repositoryformatversion=1", "extensions.partialClone=origin", "remote.origin.promisor=true",
        "remote.origin.url=ssh://host.invalid/x", "core.sshCommand=%c", "remote.origin.uploadpack=%c",
        "remote.origin.fetch=+refs/*:refs/*",
    )  # fmt: skip


@trap
def lazy_fetch_from_a_neighbour(it: Trap) -> None:
    it.loose(it.made.git("rev-parse", "HEAD:a.py")).unlink()
    it.config(
        "core.repositoryformatversion=1", "extensions.partialClone=origin", "remote.origin.promisor=true",
        "remote.origin.url=file://%v", "protocol.file.allow=always", "protocol.allow=always",
    )  # fmt: skip


@trap
def mailmap_that_is_a_link_to_a_secret(it: Trap) -> None:
    (it.root / ".mailmap").symlink_to(it.secret)
    it.config("log.mailmap=true")


def _signed(it: Trap, signature: str) -> None:
    tree, parent = it.made.git("rev-parse", "HEAD^{tree}"), it.made.git("rev-parse", "HEAD")
    lines = "\n ".join(signature.splitlines())
    who = "Ada <ada@example.org> 1700000500 +0000"
    commit = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\ngpgsig {lines}\n\nsigned\n"
    name = it.made.git("hash-object", "-t", "commit", "-w", "--stdin", input=commit.encode())
    it.made.git("update-ref", "refs/heads/main", name)


@trap
def signature_program(it: Trap) -> None:
    _signed(it, "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----")
    it.config("log.showSignature=true", "gpg.program=%c", "gpg.openpgp.program=%c")


@trap
def ssh_signature_program(it: Trap) -> None:
    _signed(it, "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----")
    it.config(
        "log.showSignature=true", "gpg.format=ssh", "gpg.ssh.program=%c", "gpg.ssh.defaultKeyCommand=%c",
        "gpg.ssh.allowedSignersFile=%s", "gpg.ssh.revocationFile=%s",
    )  # fmt: skip


@trap
def submodule_with_its_own_fsmonitor(it: Trap) -> None:
    inner = made(it.root / "sub")
    inner.commit("inner", x__py="1\n")
    it.made.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n')
    it.made.commit("with a submodule")
    inner.git("config", "core.fsmonitor", str(it.canary))
    inner.git("config", "diff.external", str(it.canary))
    inner.write("x.py", "changed\n")
    it.config("diff.submodule=diff", "submodule.recurse=true", "submodule.sub.update=!%c", "submodule.sub.ignore=none")


@trap
def submodule_whose_head_is_a_secret(it: Trap) -> None:
    inner = made(it.root / "sub")
    inner.commit("inner", x__py="1\n")
    it.made.commit("with a submodule")
    token = it.folder / "token"
    token.write_text("5ec7e7" * 6 + "5ec7\n")
    (inner.git_dir / "HEAD").unlink()
    (inner.git_dir / "HEAD").symlink_to(token)


@trap
def alternates_of_a_neighbour(it: Trap) -> None:
    (it.git_dir / "objects/info").mkdir(exist_ok=True)
    (it.git_dir / "objects/info/alternates").write_text(f"{it.victim.git_dir}/objects\n")
    (it.git_dir / "objects/info/http-alternates").write_text(f"{it.victim.git_dir}/objects\n")
    it.made.git("update-ref", "refs/heads/evil", it.victim_commit)


@trap
def replaced_commit(it: Trap) -> None:
    head = it.made.git("rev-parse", "HEAD")
    it.made.git("replace", head, it.made.git("commit-tree", "-m", "another past", "HEAD^{tree}"))


@trap
def grafted_history(it: Trap) -> None:
    (it.git_dir / "info").mkdir(exist_ok=True)
    head, root = it.made.git("rev-parse", "HEAD"), it.made.git("commit-tree", "-m", "another past", "HEAD^{tree}")
    (it.git_dir / "info/grafts").write_text(f"{head} {root}\n")


def by_link(name: str, path: str, target: str) -> None:
    """A trap that is a link in the git directory, to the secret or into the neighbour's repository."""

    def build(it: Trap) -> None:
        it.made.git("pack-refs", "--all") if path == "packed-refs" else None
        it.replace(path, it.secret if target == "secret" else it.victim.git_dir / target)

    TRAPS[name] = build


by_link("head-is-a-link-to-a-secret", "HEAD", "secret")
by_link("packed-refs-are-a-link-to-a-secret", "packed-refs", "secret")
by_link("packed-refs-are-the-neighbours", "packed-refs", "packed-refs")
by_link("branch-is-a-link-to-a-secret", "refs/heads/main", "secret")
by_link("other-branch-is-a-link-to-a-secret", "refs/heads/evil", "secret")
by_link("refs-are-the-neighbours", "refs", "refs")
by_link("heads-are-the-neighbours", "refs/heads", "refs/heads")
by_link("heads-are-the-whole-disk", "refs/heads/disk", "../../../..")
by_link("shallow-is-a-link-to-a-secret", "shallow", "secret")
by_link("index-is-a-link-to-a-secret", "index", "secret")
by_link("objects-are-the-neighbours", "objects", "objects")
by_link("packs-are-the-neighbours", "objects/pack", "objects/pack")
by_link("reflog-is-a-link-to-a-secret", "logs/HEAD", "secret")
by_link("reflogs-are-the-neighbours", "logs", "logs")
by_link("orig-head-is-a-link-to-a-secret", "ORIG_HEAD", "secret")
by_link("merge-head-is-a-link-to-a-secret", "MERGE_HEAD", "secret")


@trap
def loose_objects_of_the_neighbour(it: Trap) -> None:
    for name in it.victim.git("rev-list", "--objects", "--all").splitlines():
        digits = name.split()[0]
        it.loose(digits).parent.mkdir(exist_ok=True)
        it.loose(digits).symlink_to(it.victim.git_dir / "objects" / digits[:2] / digits[2:])
    it.made.git("update-ref", "refs/heads/evil", it.victim_commit)


@trap
def fan_out_of_the_neighbour(it: Trap) -> None:
    for name in it.victim.git("rev-list", "--objects", "--all").splitlines():
        folder = it.git_dir / "objects" / name[:2]
        if not folder.exists():
            folder.symlink_to(it.victim.git_dir / "objects" / name[:2])
    (it.git_dir / "refs/heads/evil").write_text(f"{it.victim_commit}\n")


@trap
def single_pack_of_the_neighbour(it: Trap) -> None:
    it.victim.git("repack", "-adq")
    for pack in (it.victim.git_dir / "objects/pack").iterdir():
        (it.git_dir / "objects/pack" / pack.name).symlink_to(pack)
    (it.git_dir / "refs/heads/evil").write_text(f"{it.victim_commit}\n")


@trap
def common_folder_of_the_neighbour(it: Trap) -> None:
    (it.git_dir / "commondir").write_text(f"{it.victim.git_dir}\n")


@trap
def head_that_climbs(it: Trap) -> None:
    (it.git_dir / "HEAD").write_text("ref: refs/../../../secret.txt\n")


@trap
def head_without_end(it: Trap) -> None:
    (it.git_dir / "HEAD").write_bytes(b"ref: refs/heads/" + b"x" * 10_000_000)


@trap
def branches_that_turn_in_circles(it: Trap) -> None:
    (it.git_dir / "refs/heads/evil").write_text("ref: refs/heads/live\n")
    (it.git_dir / "refs/heads/live").write_text("ref: refs/heads/evil\n")


@trap
def pipes_everywhere(it: Trap) -> None:
    blob = it.made.git("rev-parse", "HEAD~1:a.py")
    it.loose(blob).unlink()
    for path in (
        it.loose(blob),
        *(it.git_dir / name for name in ("packed-refs", "shallow", "refs/heads/evil", "ORIG_HEAD")),
    ):
        os.mkfifo(path)
    for path in (it.git_dir / "index", it.git_dir / "logs/HEAD", it.root / "a.py"):
        path.unlink()
        os.mkfifo(path)


@trap
def escapes_in_every_name(it: Trap) -> None:
    it.made.write("ev\x1b]0;il\x07\n.py", "x\n")
    it.made.commit("\x1b[31mred\x1b[0m\n\x1b]8;;http://x\x07link", author="E\x1bv\u202ee <e@example.org>")
    it.made.git("branch", "b\u202er\u0085anch")


@trap
def gigantic_blob(it: Trap) -> None:
    it.made.git("config", "core.compression", "1")
    with (it.root / "zeros").open("wb") as file:
        file.truncate(60_000_000)
    it.made.commit("zeros")
    (it.root / "zeros").unlink()
    it.made.write("a.py", "changed\n")


@trap
def corrupt_objects(it: Trap) -> None:
    blob = it.loose(it.made.git("rev-parse", "HEAD~1:a.py"))
    blob.chmod(0o644)
    blob.write_bytes(b"x\x9c" + SECRET.encode())


@trap
def corrupt_pack(it: Trap) -> None:
    it.made.git("repack", "-adq")
    for pack in (it.git_dir / "objects/pack").glob("*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[:100])


@trap
def index_without_sense(it: Trap) -> None:
    (it.git_dir / "index").write_bytes(b"DIRC" + SECRET.encode() * 10)


@trap
def index_with_a_monitor(it: Trap) -> None:
    """An extension that says which monitor last looked, as git writes it itself."""
    index = (it.git_dir / "index").read_bytes()[:-20]
    token = b"token\0"
    body = struct.pack(">I", 2) + token + struct.pack(">I", 24) + struct.pack(">III", 0, 0, 0) + b"\0" * 12
    whole = index + b"FSMN" + struct.pack(">I", len(body)) + body
    (it.git_dir / "index").write_bytes(whole + sha1(whole).digest())
    it.config("core.fsmonitor=%c")


@trap
def split_index(it: Trap) -> None:
    it.made.git("update-index", "--split-index")
    for shared in it.git_dir.glob("sharedindex.*"):
        os.utime(shared, (1_600_000_000, 1_600_000_000))


@trap
def shared_index_that_is_a_link_to_a_secret(it: Trap) -> None:
    it.made.git("update-index", "--split-index")
    for shared in list(it.git_dir.glob("sharedindex.*")):
        it.replace(shared.name, it.secret)


@trap
def hostile_commit_graph(it: Trap) -> None:
    info = it.git_dir / "objects/info"
    info.mkdir(exist_ok=True)
    (info / "commit-graph").write_bytes(b"CGPH\x01\x01\x03\x00" + SECRET.encode() * 100)
    (info / "commit-graphs").symlink_to(it.folder)


@trap
def files_that_became_links_to_secrets(it: Trap) -> None:
    it.made.write("folder/secret.txt", "harmless\n")
    it.made.commit("folder")
    (it.root / "a.py").unlink()
    (it.root / "a.py").symlink_to(it.secret)
    (it.root / "folder/secret.txt").unlink()
    (it.root / "folder").rmdir()
    (it.root / "folder").symlink_to(it.folder)
