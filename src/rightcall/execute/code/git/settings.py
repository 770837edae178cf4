"""What git is told about the world: a configuration and an environment of our own, with everything off that could run
a program, ask somebody, or read a file that nobody named."""

import os

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.programs import program, search_path

_LARGEST_PIECE = "512m"
"""The most memory that git asks for at once: larger files are not read."""
OWN = ".own"
"""A folder inside the private git directory for what must not be found under its usual name: git takes any file there
for a ref of that name."""
_CONFIG = """\
[core]
	repositoryformatversion = {version}
	bare = false
	filemode = true
	hooksPath = /dev/null
	fsmonitor = false
	untrackedCache = false
	splitIndex = false
	preloadIndex = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	pager = cat
	editor = false
	askPass = false
	sshCommand = false
	useReplaceRefs = false
	commitGraph = true
	bigFileThreshold = 5m
	quotePath = false
	logAllRefUpdates = false
	checkStat = default
	warnAmbiguousRefs = false
[gc]
	auto = 0
	autoDetach = false
[maintenance]
	auto = false
[protocol]
	allow = never
[diff]
	autoRefreshIndex = false
	submodule = short
	mnemonicPrefix = false
	noprefix = false
[log]
	mailmap = false
	showSignature = false
	showRoot = true
	decorate = false
[gpg]
	program = false
[gpg "ssh"]
	program = false
[gpg "x509"]
	program = false
[credential]
	helper =
[submodule]
	recurse = false
[feature]
	manyFiles = false
[advice]
	detachedHead = false
	objectNameWarning = false
"""
"""`false` as a program: should anything ever be asked to run, it is one that does nothing."""


def config(*, sha256: bool, reftable: bool) -> str:
    """The only configuration that git sees."""
    text = _CONFIG.format(version=1 if sha256 or reftable else 0)
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
