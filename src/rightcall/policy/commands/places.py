"""What a path in a command means before anything is opened: inside the project, made again by a build, temporary, a
place of credentials, a file that something starts from, or part of the system."""

import os
import re
from functools import lru_cache

from msgspec import Struct

from rightcall.base.files.guarded import follow, is_guarded, program_places
from rightcall.base.files.rules import is_source
from rightcall.base.text import regex
from rightcall.policy.commands.words import HOLE, WILD

_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/var/folders", "/private/var/folders")
_DEVICES = regex(r"/dev/(?:null|zero|stdin|stdout|stderr|tty|u?random|full|fd/.*|ptmx|pts/\d+)")
_DISKS = regex(r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|loop\d|md\d|dm-\d|mapper/|sr\d|mem|kmem"
                    r"|port|sda|nbd\d)", re.IGNORECASE)  # fmt: skip
_MADE_AGAIN = regex(
    r"node_modules|bower_components|dist|build|builds|target|out|output|_build|_site|__pycache__|\.pytest_cache"
    r"|\.mypy_cache"
    r"|\.ruff_cache|\.tox|\.nox|\.eggs|[^/]*\.egg-info|coverage|\.coverage(\..*)?|htmlcov|\.nyc_output|\.next"
    r"|\.nuxt|\.output"
    r"|\.turbo|\.parcel-cache|\.svelte-kit|\.angular|\.astro|\.vite|\.cache|\.gradle|\.hypothesis|\.ipynb_checkpoints"
    r"|storybook-static|playwright-report|test-results|test-reports|cmake-build-[^/]*|cmakefiles|cmakecache\.txt"
    r"|deriveddata|pods|\.dart_tool|\.terraform|\.venv|venv|\.serverless|\.webpack|tmp|temp|\.tmp|\.temp|tmp[^/]*\.d"
    r"|[^/]*\.(pyc|pyo|o|obj|class|tmp|temp|swp|swo|tsbuildinfo|gcda|gcno|profraw|pid)|\.ds_store"
    r"|thumbs\.db|\.eslintcache|\.stylelintcache|npm-debug\.log[^/]*|yarn-error\.log|\.sass-cache|junit\.xml"
    r"|coverage\.xml"
    r"|a\.out|wheelhouse|public/build|\.jest-cache|\.phpunit\.result\.cache|bazel-[^/]*|zig-out|zig-cache"
    r"|\.zig-cache|\.stack-work|dist-newstyle|elm-stuff|_minted[^/]*|\.bundle|\.yarn/cache"
)  # fmt: skip
_CREDENTIALS = regex(
    r"~/\.ssh(/(?!known_hosts|[^/]*\.pub$|config$).*)?|~/\.aws(/.*)?|~/\.azure(/.*)?|~/\.config/gcloud(/.*)?"
    r"|~/\.gnupg(/.*)?|~/\.password-store(/.*)?|~/\.config/gh(/hosts\.ya?ml)?|~/\.docker/config\.json|~/\.kube(/config.*)?"
    r"|~/\.config/(op|rclone|hub|glab-cli|doctl|heroku|netlify|configstore)(/.*)?|~/\.terraform\.d/credentials.*"
    r"|~/\.cargo/credentials.*|~/\.(config/)?composer/auth\.json|~/\.(cache/)?huggingface/(stored_)?tokens?|~/\.kaggle(/.*)?"
    r"|~/\.config/(pip/pip\.conf|gh-copilot|github-copilot|stripe|fly|sops|age|containers/auth\.json|atuin)(/.*)?"
    r"|~/\.(fly|oci|databrickscfg|snowsql|vault|netlify|wrangler|supabase|ngrok2|minikube)(/.*)?|~/\.config/\.wrangler(/.*)?"
    r"|(.*/)?(wp-config\.php|deploy_key|[^/]*adminsdk[^/]*\.json|master\.key)"
    r"|~/\.gem/credentials|~/\.bundle/config|~/\.gradle/gradle\.properties"
    r"|~/\.m2/settings.*\.xml"
    r"|~/\.(claude|codex|gemini)/(\.credentials\.json|auth\.json|oauth_creds\.json|.*token.*)|~/\.claude\.json"
    r"|~/\.(mozilla|thunderbird)(/.*)?|~/\.config/(google-chrome|chromium|brave[^/]*|microsoft-edge|vivaldi)(/.*)?"
    r"|~/library/(keychains|cookies|application support/(google/chrome|firefox|brave[^/]*|microsoft edge"
    r"|com\.apple\.tcc))"
    r"(/.*)?|~/library/safari(/.*)?|~/\.local/share/keyrings(/.*)?|~/snap/(firefox|chromium)(/.*)?|~/\.electrum(/.*)?"
    r"|~/\.bitcoin(/.*)?|~/\.ethereum(/.*)?|~/\.config/solana(/.*)?|~/\.git-credentials|~/\.config/git/credentials"
    r"|.*/wallet\.dat|.*/login data|.*/logins\.json|.*/key4\.db|.*/cookies\.sqlite"
    r"|(.*/)?[._]netrc|(.*/)?\.(pypirc|npmrc|pgpass|my\.cnf|s3cfg|boto|vault-token|git-credentials|dockercfg|htpasswd)"
    r"|(.*/)?\.[a-z_]*_history|(.*/)?\.(lesshst|viminfo|histfile)|~/\.zsh_sessions(/.*)?|(.*/)?shadow-?|/etc/gshadow-?"
    r"|/etc/(sudoers(\.d)?|ssl/private|ssh/ssh_host_[^/]*key|krb5\.keytab|kubernetes)(/.*)?"
    r"|/proc/[^/]+/(environ|mem|maps)"
    r"|/proc/(kcore|kmem)|/dev/k?mem|/(var/)?run/secrets(/.*)?|/var/lib/(docker|kubelet|rancher)(/.*)?"
    r"|/var/run/docker\.sock|/run/docker\.sock"
)  # fmt: skip
_NAMED_LIKE_ONE = regex(
    r"(.*[._-])?(client_?secrets?|api_?keys?|access_?keys?|private_?key|auth_?token|oauth_?token|vault[_-]pass(word)?"
    r"|credentials?|passw(or)?ds?|secret_?key)([._-]?[0-9][^/]*)?(\.(json|txt|csv|ya?ml|toml|ini|cfg|conf|asc|gpg|xml|bin))"
    r"|\.?vault[_-]pass(word)?|token\.(txt|json)|(.*[-_])?key\.(json|properties|txt)|.*\.p8|\.dev\.vars|kubeconfig[._-].*|.*[._-]kubeconfig"
    r"|appsettings\.prod[a-z]*\.json|fish_history|history\.(sqlite|db)"
)
"""Names of files that hold credentials by custom, wherever they lie."""
_ONLY_LIKE_ONE = ("example", "sample", "template", "schema", "mock", "fake", "dummy", "/locales/", "/i18n/", "/lang/",
                  "/fixtures/", "/docs/", "/node_modules/", "/testdata/", "/site-packages/")  # fmt: skip
_TELLING = regex(r"key|token|secret|passw|cred|\.dev\.vars|kubeconfig|appsettings\.|history|\.p8|[_-]pass")
_SETTINGS = regex(
    r"~/\.(?!config/|ssh/|cargo/|local/|cache/|claude/|codex/|gemini/|cursor/|git/|vim/|nvm/|rustup/|pyenv/|oh-my-zsh/)"
    r"[^/]+/(.*/)?(config(\.(json|toml|ya?ml|ini|cfg))?|(token|key|auth|session|api_key|[^/]*history)(\.[a-z]+)?"
    r"|nuget\.config|jupyter_[a-z_]*config\.(json|py))"
    r"|~/\.config/(?!git/|nvim/|alacritty/|kitty/|i3/|sway/|bat/|zed/|helix/|lazygit/|tmux/|wezterm/|ghostty/|yazi/|ruff/"
    r"|gh/|mise/|htop/|fish/)[^/]+/(.*/)?(config(\.(json|toml|ya?ml|ini|cfg))?|cli\.toml|token|key|auth(\.json)?|api_key"
    r"|nuget\.config|state\.vscdb)"
    r"|~/\.(terraformrc|sentryclirc|yarnrc(\.yml)?|databrickscfg|snowsql|config/openai\.key)"
    r"|/etc/(rancher|wireguard|openvpn|networkmanager/system-connections|docker/key\.json|letsencrypt)(/.*)?"
    r"|/run/user/[^/]+/keyring(/.*)?"
)
"""Settings of programs in the home folder, in which their tokens stand."""
_STARTS = regex(
    r"~/\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout"
    r"|kshrc|cshrc"
    r"|tcshrc|login|inputrc|xinitrc|xprofile|xsession|vimrc|gvimrc|emacs|tmux\.conf|screenrc|gitconfig|npmrc"
    r"|pythonrc|irbrc"
    r"|pryrc|rprofile|lldbinit|gdbinit|hgrc|curlrc|wgetrc|ssh/.*|pam_environment)"
    r"|~/\.config/(fish|systemd|autostart|git|nvim|zsh|environment\.d|pip|containers|direnv)(/.*)?|~/\.emacs\.d(/.*)?"
    r"|~/\.vim(/.*)?|~/\.oh-my-zsh(/.*)?|~/library/(launchagents|launchdaemons|services)(/.*)?|~/\.pip/.*"
    r"|~/\.cargo/config.*"
    r"|~/\.gnupg(/.*)?|~/\.aws(/.*)?|~/\.kube(/.*)?|~/\.docker(/.*)?|~/\.local/(bin|share/(applications|systemd))(/.*)?"
    r"|~/bin(/.*)?|(.*/)?\.git/(?!commit_editmsg|merge_msg).*|(.*/)?\.git|(.*/)?authorized_keys2?"
    r"|(.*/)?sitecustomize\.py"
    r"|(.*/)?usercustomize\.py|(.*/)?site-packages/[^/]+\.pth|(.*/)?\.envrc"
    r"|(.*/)?\.mcp\.json|(.*/)?\.[^/]+/([^/]+/)?mcp(_config|_settings)?\.json|(.*/)?claude_desktop_config\.json"
    r"|(.*/)?\.vscode/(tasks|launch|settings)\.json|(.*/)?\.devcontainer(/.*)?\.json|(.*/)?\.zed/.*\.json|(.*/)?\.husky/.*"
)  # fmt: skip
_SYSTEM = regex(
    r"/(etc|usr|bin|sbin|lib|lib64|boot|sys|proc|opt|system|library|root|var/spool|var/lib)(/.*)?"
    r"|[a-z]:[/\\](windows|program files).*"
)
"""Folders of the system. A project may lie in one of them, in a container mostly, and is a project all the same."""
_GUARDS = regex(
    r"(.*/)?rightcall\.toml|(.*/)?\.rightcall(/.*)?|(.*/)?\.(claude|gemini|codex|cursor)/(settings[^/]*\.json"
    r"|config\.toml"
    r"|hooks(\.json)?(/.*)?|managed-settings\.json)|(.*/)?\.claude\.json|(.*/)?managed-settings\.json"
    r"|(.*/)?\.codex/(hooks\.json|requirements\.toml)"
    r"|(.*/)?(bin|scripts)/rightcall(\.exe)?|(.*/)?site-packages/rightcall([-.][^/]*)?(/.*)?"
)  # fmt: skip
_HOLDS_GUARDS = regex(r"(.*/)?\.(claude|gemini|codex|cursor|husky)")
_OWN_PLACES = regex(r"/proc/(?:self|thread-self|[0-9]+|\$\$)(?:/task/[0-9]+)?/(cwd|root)(?=/|$)")
"""The folder and the root of a process, which is the command's own or one of its parents'."""
_ODD_STARTS = ("~/.", "~/library", "~/snap", "/etc", "/proc", "/run", "/var", "/dev")
_ODD_ENDS = ("netrc", "shadow", "shadow-", "wallet.dat", "login data", "logins.json", "key4.db", "cookies.sqlite",
             "wp-config.php", "deploy_key")  # fmt: skip
_MOST_READ = 2000


def is_cut(names: tuple[str, ...]) -> bool:
    """Whether a folder may hold more names than were read."""
    return len(names) >= _MOST_READ


class SeenPath(Struct, frozen=True):
    """A path in a command: as it is written, and from the root of the file system, not yet followed through links."""

    written: str
    whole: str
    writes: bool


class Place(Struct, frozen=True):
    """Where a command would run."""

    root: str
    home: str
    folders: tuple[str, ...]
    """Where it starts: the folder that the host works in, where that is known, else the root."""
    temporary: tuple[str, ...] = _TEMPORARY

    @classmethod
    def at(cls, root: str, folders: tuple[str, ...] = ()) -> "Place":
        home = os.environ.get("HOME") or os.path.expanduser("~")
        base = follow(root)  # anew for each call: a link may lead elsewhere by now
        starts = tuple([follow(os.path.join(base, folder)) for folder in folders]) or (base,)
        return cls(base, os.path.normpath(home), starts, _spare(os.environ.get("TMPDIR", "")))

    def whole(self, folder: str, path: str) -> str:
        """A path from its root, without `.` and `..`; with a hole where its folder is not known."""
        if path.startswith("~") and path[1:2] in ("", "/"):
            path = self.home + path[1:]
        if path.startswith("/"):
            path = os.path.normpath(path).replace("//", "/")
            through = _OWN_PLACES.match(path) if path.startswith("/proc/") else None
            if through is None:
                return path
            if through[1] == "root":
                return self.whole(folder, path[through.end() :] or "/")
            path = path[through.end() :].lstrip("/")
        if HOLE in folder:
            return os.path.normpath(f"{HOLE}/{path}")
        return os.path.normpath(os.path.join(folder, path))

    def is_inside(self, path: str) -> bool:
        """Below the root, or in a folder that is not known: there a name without `..` is taken for one inside."""
        return path.startswith((self.root.rstrip("/") + "/", HOLE)) or path == self.root

    @property
    def root_is_temporary(self) -> bool:
        return any(self.root.startswith(one.rstrip("/") + "/") for one in self.temporary)

    def is_above(self, path: str) -> bool:
        """The project's folder or one that it lies in, also where only wildcards mean it: `/tmp/*`, `/home/*/work`."""
        from fnmatch import fnmatchcase  # late: few lines need it, and every hook would pay for it

        names = [name for name in self.root.casefold().split("/") if name]
        reached = {0}
        for part in path.casefold().replace(HOLE, "*").split("/"):
            if part == "**":
                reached = set(range(min(reached), len(names) + 1))
            elif part:
                ahead = (at for at in reached if at < len(names))
                reached = {at + 1 for at in ahead if part == names[at] or fnmatchcase(names[at], part)}
            if not reached:
                return False
        return True

    def is_temporary(self, path: str) -> bool:
        """In the system's folder for such files, also behind links; a project that lies there is a project all the
        same, and so is what it lies in."""
        return self._is_in_temporary(path) and self._is_in_temporary(_followed_up_to_wildcards(path))

    def may_be_filled(self, path: str) -> bool:
        """Whether something may be put there: in the project, or in a temporary folder and right into one."""
        return self.is_inside(path) or self.is_temporary(path) or self.is_temporary(f"{path}/x")

    def _is_in_temporary(self, path: str) -> bool:
        if not any(path.startswith(one.rstrip("/") + "/") for one in self.temporary):
            return False
        return not self.is_inside(path) and not self.is_above(path)

    def is_made_again(self, path: str) -> bool:
        """A folder or file that a build or a test writes, inside the project and not the project itself."""
        if not self.is_inside(path) or path == self.root:
            return False
        parts = path.removeprefix(self.root).casefold().strip("/").split("/")
        return any(_MADE_AGAIN.fullmatch(part) for part in parts)

    def _short(self, path: str) -> str:
        home = self.home.rstrip("/")
        if home and (path == home or path.startswith(home + "/")):
            return "~" + path[len(home) :].casefold()
        return re.sub(r"^/(?:home|users)/[^/]+(?=/|$)", "~", path.casefold())

    def holds_credentials(self, path: str) -> bool:
        short = self._short(path)
        if (short == "/root" or short.startswith("/root/")) and not self.is_inside(path):
            return True  # another's home
        last = short.rpartition("/")[2]
        if _TELLING.search(last) and _NAMED_LIKE_ONE.fullmatch(last) and not is_source(last):
            return not any(one in short for one in _ONLY_LIKE_ONE)
        odd = short.startswith(_ODD_STARTS) or "/." in short or short.endswith(_ODD_ENDS) or "adminsdk" in short
        if not odd:
            return False  # the long expression is compiled for few
        return _CREDENTIALS.fullmatch(short) is not None or _SETTINGS.fullmatch(short) is not None

    def holds_values(self, path: str) -> bool:
        """Values for a program that is told to read them, with passwords among them by custom: shown, they are seen."""
        last = path.rpartition("/")[2].casefold()
        return last.endswith((".tfvars", ".tfvars.json")) and not any(one in last for one in _ONLY_LIKE_ONE)

    def is_started_from(self, path: str) -> bool:
        """Something runs or obeys what is written there, or it is the system's."""
        short = self._short(path)
        if _SYSTEM.fullmatch(short) is not None and not self.is_inside(path):
            return True
        return _STARTS.fullmatch(short) is not None

    def is_policy(self, path: str) -> bool:
        """The policy of this project or of a folder above it, as the file itself and not through a link."""
        folder, _, name = path.rpartition("/")
        above = f"{self.root}/".startswith(f"{folder}/")
        return name == "rightcall.toml" and above and not os.path.islink(path)

    def is_guard(self, path: str) -> bool:
        """Our own settings and our own program, or those in which a host says which hooks it asks."""
        return _GUARDS.fullmatch(self._short(path)) is not None or is_guarded(path, program_places())

    def holds_guard(self, path: str) -> bool:
        """The same, and a folder in which one lies: what is removed, moved or replaced as a whole takes it along."""
        if self.is_guard(path) or _HOLDS_GUARDS.fullmatch(self._short(path)) is not None:
            return True
        within = f"{path.casefold().rstrip('/')}/"
        return any(one.casefold().startswith(within) for one in program_places()) or any(
            os.path.lexists(f"{path}/{one}") for one in ("bin/rightcall", "Scripts/rightcall.exe")
        )

    def is_everything(self, path: str) -> bool:
        """The root of the system, the home folder, or all in them; a folder of the system; a whole disk."""
        bare = path.rstrip("/*.") or "/"
        short = self._short(os.path.normpath(bare) if bare != "/" else "/")
        return short in _EVERYTHING or re.fullmatch(r"[a-z]:[/\\]*\*?", path, re.IGNORECASE) is not None

    def is_home_of_many(self, path: str) -> bool:
        """A folder in which the credentials of many programs lie, among all else. The project's own is none."""
        whole = os.path.normpath(path.rstrip("*") or "/")
        return whole != self.root and self._short(whole) in _OF_MANY


_OF_MANY = frozenset(("/", "~", "/home", "/users", "/root", "/etc", "~/.config", "~/library"))
_EVERYTHING = frozenset(
    ("/", "~", "/home", "/users", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var", "/opt",
     "/root", "/sys", "/proc", "/dev", "/system", "/library", "/applications", "/mnt", "/media", "/srv", "/usr/bin",
     "/usr/lib", "/usr/local", "/var/lib", "/private", "/volumes")
)  # fmt: skip


@lru_cache(8)
def _spare(temporary: str) -> tuple[str, ...]:
    """The folders for what is temporary, by every name that they have."""
    spare = (*_TEMPORARY, os.path.normpath(temporary)) if temporary.startswith("/") else _TEMPORARY
    return tuple(dict.fromkeys((*spare, *map(os.path.realpath, spare))))


def _followed_up_to_wildcards(path: str) -> str:
    """Where the links lead in the part of a path that is known."""
    found = WILD.search(path.replace(HOLE, "*"))
    if found is None:
        return follow(path)
    known = path.rfind("/", 0, found.start())
    return follow(path[:known] or "/").rstrip("/") + path[known:]


def is_device(path: str) -> bool:
    """One that nothing is lost in."""
    return _DEVICES.fullmatch(path) is not None


def is_disk(path: str) -> bool:
    return _DISKS.match(path) is not None


@lru_cache(256)
def entries(folder: str, _stamp: tuple[int, int, int]) -> tuple[str, ...]:
    """The names in a folder, as far as is worth looking."""
    found: list[str] = []
    try:
        with os.scandir(folder) as listed:
            for one in listed:
                found.append(one.name)
                if len(found) >= _MOST_READ:
                    break
    except OSError:
        return ()
    return tuple(found)


def names_in(folder: str) -> tuple[str, ...]:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return ()
    return entries(folder, (found.st_dev, found.st_ino, found.st_ctime_ns))  # unlike `mtime`, nobody can set that back
