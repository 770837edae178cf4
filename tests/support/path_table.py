"""A real tree with everything that has ever fooled a reader of paths, and what must come of each path in it.

base/               what lies outside: every file there holds TREASURE
base/root/          the tree; what may be read holds its own true path, everything else TREASURE
base/by-link        a link to the root

python tests/support/path_table.py openat2|walk     checks the table as a user who is not root, and prints what is wrong
"""

import os
import socket
import sys
import tempfile
from pathlib import Path

from rightcall.base.files import sight
from rightcall.base.files.sight import Sight, Unseen
from rightcall.errors import ToolFailure

NOBODY = 65534

TREASURE = "TREASURE: nobody may read this"

SECRETS = (
    ".env", ".env.local", ".env.production", ".envrc", ".env.example", ".env.py", ".env.md", "prod.env", "a.b.env",
    "secret.txt", "secret.yaml", "secrets.json", "secrets.yml", "secrets.toml", "client_secret.json",
    "my_secret.json", "password.txt", "password.json", "passwords.csv", "db_password.txt", ".htpasswd", "htpasswd",
    "site.htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "server.pem",
    "server.key", "store.p12", "store.pfx", "store.jks", "store.keystore", "credentials.json",
    "service-account.json", "kubeconfig", "main.tfstate", "main.tfstate.backup", "putty.ppk", "vault.kdbx",
)  # fmt: skip
"""At least one for every name in the rules."""

HIDDEN = (
    ".npmrc", ".netrc", ".pypirc", ".bashrc", ".bash_history", ".gitconfig", ".gitmodules", ".dockerignore",
    ".ssh/config",
    ".ssh/known_hosts", ".aws/credentials", ".docker/config.json", ".kube/config", ".cache/x.txt", ".hidden/.gitignore",
    ".hidden/.github/x.yml", ".vscode/settings.json", "a/.hidden/b.txt", "...", ".gitignored",
    ".github2/x", ".editorconfig.bak",
)  # fmt: skip
INTERNAL = (
    ".git/config", ".git/HEAD", ".git/objects/x", ".git/hooks/pre-commit", "sub/.git", "node_modules/left-pad/index.js",
    "sub/node_modules/x.js", ".hg/hgrc", ".svn/entries", ".GIT/config", "Node_Modules/x.js", ".Git/HEAD",
)  # fmt: skip
IN_SECRET_FOLDERS = (
    "secrets/a.txt", "secrets/a.py", "secrets/deep/er.md", "SECRETS/x.json", "deploy/Secrets/readme.md",
    "certs.key/x.txt",
    "tls.pem/x.bin", "x/kubeconfig/data", "infra.tfstate/part", "dir.env/x.cfg",
    "secret.d/plain.txt", "passwords.old/list.csv",
)  # fmt: skip
DISGUISED = (
    "id_rsa.", "id_rsa ", "server.pem.", "server.pem  ", ".env ", "secrets.json.", "credentials.json. .", "sub\\.env",
    "sub\\id_rsa", "x\\.git\\config", "a.pem::$DATA", "\u017fecrets.json", "server.\u212aey", "id_rs\u200ba",
    "\ufeffid_rsa", "node_modules./x.js", "secrets /x.txt", "C:\\boot.ini", "\\server", "..\\outside.txt", "a\\..\\b",
)  # fmt: skip
"""Names that another system or file system takes for one of those above."""

READABLE = (
    "README.md", "src/main.py", "src/deep/er/still/deeper/leaf.ts", "empty-ish", "Makefile", "LICENSE",
    # look-alikes of secrets
    "secretary.py", "src/secretary.txt", "password_reset.py", "password_reset.html.txt", "environment.py",
    "environment.yml", "env", "env.py", "env.example", "my.environment", "keyboard.key.md", "keyboard.json",
    "monkey.js", "key.py", "a.keys", "public.keyring.txt", "pem.txt", "pem", "key", "id_rsa.pub", "id_ed25519.pub",
    "id_card.txt", "id_sk", "identity.json", "secrets.py", "secrets.md", "secret.go", "secret.test.js", "password.md",
    "passwords.rst", "password", "passwords", "passwd", "secret", "secret_santa.txt", "nosecret.json",
    "my_secrets.json", "my_secret.jsonl", "db_passwords.txt", "db_password.txt.md", "credentials.py",
    "credentials.json.md", "credentials", "service-account.json.ts", "service_account.json", "kubeconfig.md",
    "kubeconfig.yaml", "tfstate", "main.tfstate.md", "main.tf", "p12", "x.p12.md", "htpasswd.md", "htpasswd.conf",
    "tokens.txt", "secretsfolder/a.txt", "mysecrets/a.txt", "other/secret/plain.txt", "other/passwords/list.txt",
    "node_modules.md", "node_module/x.js", "my_node_modules/x.js", "git/config", "git.py", "svn/entries",
    "certs.key/readme.md", "tls.pem/load.py", "Secretary.PY", "SECRETS.PY",
    # dotfiles that may be seen
    ".gitignore", ".gitattributes", ".editorconfig", ".prettierrc", ".prettierrc.json", ".eslintrc", ".eslintrc.cjs",
    ".github/workflows/ci.yml", ".github/CODEOWNERS", ".github/.hidden/x", ".pre-commit-config.yaml",
    ".python-version", "sub/.gitignore", "a/b/c/.gitignore", "sub/.github/dependabot.yml", "sub/.editorconfig",
    ".GITATTRIBUTES",
    # odd names
    "a b.txt", " leading.txt", "new\nline.txt", "tab\there", "quo'te.txt", 'dou"ble.txt', "back\\slash.txt",
    "-rf", "--help.txt", "-", "star*.txt", "quest?.txt", "[ab].txt", "{a,b}.txt", "$HOME.txt", "`id`.txt", "a;b.txt",
    "a&b|c.txt", "a>b.txt", "#hash", "~tilde.txt", "~", "$HOME", "%2e%2e", "%2e%2e%2fetc.txt", "café.txt",
    "cafe\u0301.txt", "日本語.txt", "эмодзи-😀.txt", "\u202ertl.txt", "x (deleted)", "caf\udce9.txt", "a:b.txt",
    "nul", "con.txt", "1", "0", "true", "null", "a" * 255, "ü" * 127, "e.x.t.e.n.s.i.o.n", "trailing-", "x..y", "x..",
    "..config.py", "...dots.txt", "..folder/.gitignore", "C:/notes.txt", "C:/..x/y.md", "\u2026notes.txt",
    "dots../y.txt", "file:/x.txt", "esc\x1b[2K.txt", "/".join(f"d{number}" for number in range(60)) + "/leaf.txt",
    "/".join(["n" * 200] * 10) + "/far.txt",
)  # fmt: skip

WRITTEN = {
    "./README.md": "README.md", "././README.md": "README.md", "src//main.py": "src/main.py",
    "src/./main.py": "src/main.py", "src/../README.md": "README.md", "src/../" * 100 + "README.md": "README.md",
    "src/deep/../../README.md": "README.md",
    "src/deep/er/../../main.py": "src/main.py", ".//src///main.py": "src/main.py",
    "{root}/README.md": "README.md", "{root}//src/main.py": "src/main.py", "{root}/./src/../README.md": "README.md",
    "{base}/by-link/README.md": "README.md", "{base}/by-link/src/main.py": "src/main.py",
    "{base}/root/../root/README.md": "README.md", "../root/README.md": "README.md", "//{root}/README.md": "README.md",
    "{base}/outside/../root/README.md": "README.md", "secrets/../README.md": "README.md",
    ".git/../README.md": "README.md", "node_modules/../src/main.py": "src/main.py",
}  # fmt: skip
"""Other ways to write paths that may be read: what is passed through on the way does not matter, only where it ends."""

LINKS = {
    "to-file": "src/main.py", "to-abs": "{root}/src/main.py", "to-folder": "src", "to-folder-abs": "{root}/src",
    "sub/up": "../README.md", "sub/upfolder": "../src", "chain1": "chain2", "chain2": "sub/chain3",
    "sub/chain3": "../src/main.py", "leave": "../outside/back", "leave-folder": "{base}/outside/backfolder",
    "round": "../root/README.md", "via-root-link": "../by-link/README.md", "dot": ".", "self-folder": "../root",
    "pem-named.txt": "README.md", "looks-secret.pem": "README.md", "odd\nlink": "README.md",
    "to dots": "src/../README.md",
    ".hidden-link": "README.md",
}  # fmt: skip
THROUGH_LINKS = {
    "to-file": "src/main.py", "to-abs": "src/main.py", "to-folder/main.py": "src/main.py",
    "to-folder-abs/main.py": "src/main.py", "to-folder/deep/er/../../main.py": "src/main.py", "sub/up": "README.md",
    "sub/upfolder/main.py": "src/main.py", "chain1": "src/main.py", "leave": "README.md",
    "leave-folder/main.py": "src/main.py", "round": "README.md", "via-root-link": "README.md",
    "dot/dot/dot/README.md": "README.md", "self-folder/README.md": "README.md", "{root}/to-file": "src/main.py",
    "{base}/by-link/to-folder/main.py": "src/main.py", "looks-secret.pem": "README.md", "odd\nlink": "README.md",
    "to-folder/../README.md": "README.md", "pem-named.txt": "README.md", "to dots": "README.md",
    ".hidden-link": "README.md", "sub/upfolder/../README.md": "README.md", "hop40": "README.md",
}  # fmt: skip

BAD_LINKS = {
    "out-rel": "../outside/treasure.txt", "out-abs": "{base}/outside/treasure.txt", "out-folder": "../outside",
    "out-folder-abs": "{base}/outside", "out-deep": "../outside/deep", "out-chain1": "out-chain2",
    "out-chain2": "sub/out-chain3", "sub/out-chain3": "../../outside/treasure.txt", "evil": "../root-evil/treasure.txt",
    "evil-folder": "../root-evil", "base": "..", "top": "/", "etc": "/etc", "etc-passwd": "/etc/passwd", "loop": "loop",
    "loop-a": "loop-b", "loop-b": "loop-a", "sub/loop-folder": "../sub/loop-folder", "dangling": "nowhere",
    "dangling-out": "../outside/nowhere", "proc-cwd": "/proc/self/cwd", "proc-root": "/proc/self/root",
    "proc-fd": "/proc/self/fd", "dev-fd": "/dev/fd", "null-link": "/dev/null", "harmless.txt": ".env",
    "harmless.py": "secrets.json", "harmless.md": "sub/id_rsa", "harmless-abs.txt": "{root}/server.pem",
    "harmless-git": ".git/config", "harmless-gitfolder": ".git", "harmless-node": "node_modules",
    "harmless-secrets": "secrets", "harmless-chain.txt": "harmless.txt", "harmless-hidden": ".npmrc",
    "harmless-ssh": ".ssh", "harmless-out-and-in": "{base}/outside/to-env", "pipe-link": "pipe",
    "file-slash": "README.md/", "file-dot": "README.md/.", ".gitignore-link/.gitignore": "../.env",
    "src.py": "../outside/treasure.txt",
}  # fmt: skip
REFUSED_BY_LINK = (
    *BAD_LINKS, "out-folder/treasure.txt", "out-folder-abs/treasure.txt", "out-deep/x.txt", "out-folder/deep/x.txt",
    "evil-folder/treasure.txt", "base/outside/treasure.txt", "base/root-evil/treasure.txt", "base/../../etc/passwd",
    "top/etc/passwd", "top{base}/outside/treasure.txt", "etc/passwd", "sub/loop-folder/x", "loop-a/x", "dangling/x",
    "proc-cwd/README.md", "proc-root/etc/passwd", "proc-fd/0", "dev-fd/0", "harmless-gitfolder/config",
    "harmless-gitfolder/HEAD", "harmless-node/left-pad/index.js", "harmless-secrets/a.txt", "harmless-ssh/config",
    "to-folder/../.env", "to-folder/../../outside/treasure.txt", "dot/.env", "dot/dot/.git/config",
    "self-folder/.env", "leave-folder/../treasure.txt", "sub/up/", "to-file/", "chain1/.", "hop41",
    "via-root-link/", "{base}/by-link/.env", "{base}/by-link/out-rel", "{base}/by-link/../outside/treasure.txt",
    "{base}/outside/to-env",
)  # fmt: skip
"""Through links that end where nothing may be read."""

REFUSED = (
    # traversal
    "../outside/treasure.txt", "..", "../", "../..", "../../etc/passwd", "../root-evil/treasure.txt",
    "src/../../outside/treasure.txt", "src/../..", "./../outside/treasure.txt", "sub/./.././../outside/treasure.txt",
    "src//..//..//outside/treasure.txt", "....//....//etc/passwd", "..;/outside/treasure.txt",
    ".. /outside/treasure.txt",
    "../" * 50 + "etc/passwd", "{root}/../outside/treasure.txt", "{root}/../root-evil/treasure.txt",
    "..\\outside\\treasure.txt", "..\\..\\etc\\passwd", "src\\..\\..\\outside\\treasure.txt",
    "%2e%2e/outside/treasure.txt",
    "..%2foutside%2ftreasure.txt", "%2e%2e%2foutside%2ftreasure.txt", "..%c0%afoutside/treasure.txt",
    "..%252foutside/treasure.txt", "\u2025/outside/treasure.txt", "\uff0e\uff0e/outside/treasure.txt",
    "..\u2215outside\u2215treasure.txt", "..\uff0foutside\uff0ftreasure.txt",
    # elsewhere
    "/etc/passwd", "//etc/passwd", "/etc/../etc/passwd", "{base}/outside/treasure.txt", "{root}-evil/treasure.txt",
    "{base}/root-evil/treasure.txt", "{base}/rootx", "{base}/root.txt", "{root}x", "{root}.txt", "{base}", "{base}/",
    "/",
    "//", "{base}/outside", "{base}/outside/deep/x.txt", "/root/.ssh/id_rsa", "~root/.bashrc", "~/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa", "${HOME}/.bashrc", "file:///etc/passwd", "file://{root}/README.md", "http://localhost/x",
    "\\\\server\\share", "C:\\Windows\\win.ini", "C:/Windows/win.ini", "README.md\n/../../etc/passwd",
    # links of the system that are no names, and what is no file
    "/proc/self/cwd/README.md", "/proc/self/root/etc/passwd", "/proc/self/root{root}/README.md", "/proc/self/environ",
    "/proc/self/fd/0", "/proc/self/fd/{fd}/README.md", "/proc/self/fd/{fd}", "/dev/fd/{fd}/README.md",
    "/proc/thread-self/cwd/README.md", "/proc/1/root{root}/README.md", "/proc/self/exe", "/proc/self/mem", "/dev/null",
    "/dev/zero", "/dev/random", "/dev/stdin", "/dev/tty", "pipe", "sub/pipe.txt", "socket", "src/../pipe",
    # written wrongly
    "", " ", "nope", "nope/", "nope/../README.md", "README.md/", "README.md/.", "README.md/..",
    "README.md/../README.md",
    "README.md//", "src/main.py/x", "src/nope/../main.py", "README.md\0", "\0", "README.md\0.png", "src\0/main.py",
    "README.md ", " README.md", "README.md.", "README.md\n", "readme.md\0", "\ud800", "README.md\ud800", "\udfff/x",
    "caf\ud8e9.txt", "a" * 256, "a" * 5000, "ü" * 128, "src/" * 2000 + "main.py", "./" * 2100 + "README.md",
    "/" * 5000 + "README.md", "x" * 1_000_000, "a/" * 500_000, "../" * 2000, "src/../" * 1000 + "README.md", "cafe.txt",
    "README.md:", "README.md::$DATA", "*", "*.md", "src/*", "?", "[R]EADME.md", "{{README.md}}", "`id`", "$(id)",
    "src|main.py", "README.md;id", '"README.md"', "'README.md'", "-", "--", "@README.md", "\u202eREADME.md",
    "README.md\u200b", "\ufeffREADME.md", "no/such/file", "SRC/MAIN.PY2", "x (deleted) (deleted)", "gone (deleted)",
)  # fmt: skip


class Tree:
    """The tree on a disk."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "root"
        self.root.mkdir()
        self.fd = os.open(self.root, os.O_RDONLY)
        for name in READABLE:
            self._file(self.root, name, os.path.normpath(name))
        for name in refused_files():
            self._file(self.root, os.path.normpath(name), TREASURE)
        for name in (
            "outside/treasure.txt", "outside/deep/x.txt", "root-evil/treasure.txt", "rootx", "root.txt", "outside.txt",
        ):  # fmt: skip
            self._file(base, name, TREASURE)
        for number in range(1, 42):
            self._link(f"hop{number}", f"hop{number - 1}" if number > 1 else "README.md")
        for name, target in {**LINKS, **BAD_LINKS}.items():
            self._link(name, target)
        os.symlink("root", base / "by-link")
        os.symlink("../root/README.md", base / "outside/back")
        os.symlink("../root/src", base / "outside/backfolder")
        os.symlink("../root/.env", base / "outside/to-env")
        os.mkfifo(self.root / "pipe")
        os.mkfifo(self.root / "sub/pipe.txt")
        self._socket = socket.socket(socket.AF_UNIX)
        before = os.getcwd()
        os.chdir(self.root)  # the name of a socket may not be long
        try:
            self._socket.bind("socket")
        finally:
            os.chdir(before)

    def written(self, path: str) -> str:
        """A path of the table as it is asked for."""
        for word, value in (("{root}", str(self.root)), ("{base}", str(self.base)), ("{fd}", str(self.fd))):
            path = path.replace(word, value)
        return path

    def close(self) -> None:
        os.close(self.fd)
        self._socket.close()

    def _file(self, top: Path, name: str, content: str) -> None:
        path = os.path.join(os.fspath(top), os.path.normpath(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        assert not os.path.lexists(path), name
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)

    def _link(self, name: str, target: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(self.written(target), path)


def refused_files() -> list[str]:
    """Files that are there and may not be read: every secret as it is, shouted, mixed, and further down."""
    found = [*HIDDEN, *INTERNAL, *IN_SECRET_FOLDERS, *DISGUISED]
    for name in SECRETS:
        mixed = "".join(letter.upper() if place % 2 else letter for place, letter in enumerate(name))
        found += [name, name.upper(), mixed, f"sub/{name}", f"a/b/c/{mixed}"]
    return list(dict.fromkeys(name for name in found))


def readable_cases() -> dict[str, str]:
    """Each path that must be read, with its true path."""
    plain = {name: os.path.normpath(name) for name in READABLE}
    return {**plain, **WRITTEN, **THROUGH_LINKS}


def refused_cases() -> list[str]:
    """Each path that must not be."""
    cases = [*refused_files(), *REFUSED, *REFUSED_BY_LINK]
    return [case for case in dict.fromkeys(cases) if case not in readable_cases()]


def problem(sight: Sight, tree: Tree, path: str, true: str | None) -> str | None:
    """What is wrong with the answer to one path; `true` is the path of what must be read, None: nothing may be."""
    written = tree.written(path)
    try:
        with sight.file(written) as file:
            content = os.fsdecode(file.read(10_000))
            if (file.path, content) != (true, true):
                return f"{path!a} gave {content!a} as {file.path!a}"
    except ToolFailure as failure:
        if true is not None:
            return f"{path!a} was refused: {failure}"
        if not isinstance(failure, Unseen) or TREASURE in str(failure):
            return f"{path!a} told more than that it is not there: {failure}"
    return None


def problems(sight: Sight, tree: Tree) -> list[str]:
    wanted = [*readable_cases().items(), *((path, None) for path in refused_cases())]
    return [found for path, true in wanted if (found := problem(sight, tree, path, true))]


def as_nobody(way: str) -> list[str]:
    """What is wrong for a user who may pass through a folder without listing it, and may not read one file."""
    if way == "walk":
        sight._known = False
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tree = Tree(Path(folder).resolve())
        os.chmod(tree.root / "src", 0o711)
        os.chmod(tree.root / "Makefile", 0o600)
        wrong = problems(Sight(tree.root), tree)  # also loads what nobody might not be allowed to load
        if os.geteuid() == 0:
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
            try:
                wrong += problems(Sight(tree.root), tree)
            finally:
                os.seteuid(0)
                os.setegid(0)
            wrong.remove("'Makefile' was refused: No such file or folder: Makefile")
        tree.close()
    return wrong


if __name__ == "__main__":
    sys.stdout.write("\n".join([*as_nobody(sys.argv[1]), "all looked at"]))
