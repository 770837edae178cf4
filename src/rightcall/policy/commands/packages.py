"""Packages that a command brings: one that nobody knows and that is fetched and run in one step, one straight from a
repository, and another version of RightCall itself. And containers: their images, and what they are let into."""

import os
import re
from collections.abc import Iterator

from rightcall.base.text import regex
from rightcall.policy.commands.actions import named_production
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import SHELLS, RuleHit, Run, option_value, values_of, why_dangerous
from rightcall.policy.commands.words import HOLE, Word, basename, known_names
from rightcall.policy.commands.wrappers import VALUED_BY_CONTAINERS, shell_code

_FETCHES_ALWAYS = frozenset(("npx", "bunx", "pnpx", "uvx"))
"""Without a terminal `npx` and `npm exec` do not ask before they fetch."""
_FETCHERS = frozenset((*_FETCHES_ALWAYS, "pipx"))
_VALUED = "-p --package -w --workspace --from --with --python --spec --index-url --with-requirements"
_SOURCE = regex(
    r"(?:-{1,2}[A-Za-z-]+=)?(?:[\w.,\[\]-]+ ?@ ?)?(?:git::|sparse\+|(?:git|hg|svn|bzr)\+|git://|git@|ssh://|https?://(?!(?:[^/@]*@)?(?:localhost|127\.)\b)"
    r"|(?:github|gitlab|bitbucket|gist):)"
)
"""What is not taken by its name from the index that everybody uses."""
_USUAL = regex(
    r"(?:-{1,2}[a-z-]+=)?https://(?:pypi\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|download\.pytorch\.org"
    r"|rubygems\.org|proxy\.golang\.org|npm\.pkg\.github\.com|conda\.anaconda\.org|repo\.packagist\.org)(?:[:/].*)?"
)
_BRINGS = frozenset(
    ("install", "i", "add", "in", "isntall", "download", "wheel", "sync", "update", "upgrade", "pip", "tool", "pin",
     "plugin", "plugins", "plugin-add", "require", "create", "init", "inject", "try-repo", "get", "global", "source",
     "-p", "ci", "fetch", "profile", "box", "remote", "repo", "package", "archive.install", "escript.install",
     "collection", "role", "remote-add", "dependency:get", "specific_install")
)  # fmt: skip
_RUNS = frozenset(("run", "exec", "x", "dlx"))
"""Of these only what stands before the words of the program counts."""
_ACTIONS = _BRINGS | _RUNS | {"config"}
_OF_THE_PROJECT = frozenset(("test", "start", "ls", "list", "outdated", "audit", "why", "-v", "--version"))
_SETS = frozenset(("composer", "poetry", "pdm", "bundle"))
"""Their `config` may name another place that packages come from."""
_ALWAYS = frozenset(("cpanm", "cpan", "nix-shell", "nix-env"))
_NO_SOURCE = frozenset(("--proxy", "--https-proxy", "--cert", "--homepage", "--message", "-m"))
_INDEXES = frozenset(
    ("--index-url", "-i", "--extra-index-url", "--index", "--find-links", "-f", "--registry", "--source")
)
_BY_REPOSITORY = regex(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.*)?")
_OF_WELL_KNOWN = regex(
    r"(?:@[\w.-]+/)?create-[\w.-]+|@(?:modelcontextprotocol|angular|nestjs|vue|storybook|babel|biomejs|changesets"
    r"|commitlint|openapitools|redocly|tailwindcss|playwright|anthropic-ai|google|openai|microsoft|sveltejs|astrojs"
    r"|nuxt|vitejs|vercel|sentry|cloudflare|aws-[\w-]+|graphql-codegen|expo|react-native-community|ionic|capacitor"
    r"|typescript-eslint|eslint|mermaid-js|marp-team|arethetypeswrong|github|docusaurus|remix-run|shopify|stoplight"
    r"|apidevtools|lhci)/[\w.-]+"
)
"""Starters of projects, and what comes from makers that everybody knows."""
_MODULE = regex(
    r"(?!(?:golang\.org/x|google\.golang\.org|github\.com/(?:golangci|go-delve|golang|google|grpc-ecosystem|goreleaser"
    r"|sqlc-dev|vektra|swaggo|air-verse)|honnef\.co/go|mvdan\.cc|gotest\.tools)/)[^/@]+\.[^/@]+/.*@.*",
    re.DOTALL,
)
"""Of Go, from anywhere: its name is the address that it comes from."""
_OURS = regex(r"(?:.*/)?rightcall(?:[-=<>!~@\[; ].*)?", re.IGNORECASE | re.DOTALL)
_PACKAGERS = frozenset(
    ("pip", "pip3", "pipx", "uv", "conda", "mamba", "micromamba", "poetry", "pdm", "rye", "hatch", "pixi", "brew",
     "easy_install")
)  # fmt: skip
_CHANGES = frozenset(
    ("install", "uninstall", "add", "remove", "upgrade", "update", "reinstall", "inject", "download", "rm")
)


_NODE = frozenset(("npm", "pnpm", "yarn", "bun"))
PACKAGING = frozenset(
    (*_FETCHERS, *_PACKAGERS, *_NODE, *_ALWAYS, "pipenv", "cargo", "gem", "bundle", "go", "deno", "composer",
     "luarocks", "opam", "pre-commit", "asdf", "mise", "terraform", "tofu", "rustup", "mix", "dart", "flutter", "conan",
     "vcpkg", "stack", "cabal", "raku", "zef", "swift", "rebar3", "nimble", "shards", "haxelib", "pod", "carthage",
     "dotnet", "nuget", "mvn", "ansible-galaxy", "vagrant", "volta", "nix", "flatpak")
)  # fmt: skip


def package_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    """What a command brings that a person should look at."""
    if (
        run.program in _NODE
        and run.values
        and (run.values[0] in _OF_THE_PROJECT or (run.values[0] == "run" and run.program != "bun"))
    ):
        return
    operands = run.operands(_VALUED)
    action = operands[0].value if operands else ""
    if (source := _foreign(run, operands, action)) is not None:
        yield RuleHit("network", f"{run.program} {source}")
    elif _fetches(run, operands, action) and (name := _package(run)) and not _is_known(name, run, place):
        yield RuleHit("network", f"{run.program} {name}")
    elif name := _find_added(run, operands, action, place):
        yield RuleHit("network", f"{run.program} --with {name}")
    elif run.program in _NODE and (name := _global_package(run, operands, action, place)):
        yield RuleHit("network", f"{run.program} {action} -g {name}")
    elif run.program == "go" and action in ("install", "run"):
        for module in operands[1 : 2 if action == "run" else None]:
            if _MODULE.fullmatch(module.value):
                yield RuleHit("network", f"go {action} {module.value}")
    if (
        run.program in _PACKAGERS
        and not _CHANGES.isdisjoint(run.values[:6])
        and any(_OURS.fullmatch(one) for one in run.values if not one.startswith("-"))
    ):
        yield RuleHit("guards", f"{run.program} … rightcall")


_PUBLIC = regex(
    r"(?:(?:index\.|registry-1\.)?docker\.io|registry\.hub\.docker\.com|ghcr\.io|quay\.io|(?:[\w.-]+\.)?gcr\.io"
    r"|public\.ecr\.aws|registry\.gitlab\.com|[\w.-]+\.pkg\.dev)(?::\d+)?"
)


def is_known_image(image: str) -> bool:
    """An image of one's own or of somebody everybody knows. Anybody may put one under a name of their own into a public
    registry; what has no owner in its name is official, or was built here.

    >>> [is_known_image(one) for one in ("postgres:16", "grafana/grafana", "someone/tool", "registry.corp.example/app")]
    [True, True, False, True]
    """
    parts = image.partition("@")[0].split("/")
    if HOLE in image or len(parts) == 1:
        return True
    host = parts[0] if re.search(r"[.:]|^localhost$", parts[0]) else ""
    if host and not _PUBLIC.fullmatch(host):
        return True
    owner = parts[1 if host else 0]
    return owner in known_names("image owners") or (bool(host) and len(parts) == 2)


def _global_package(run: Run, operands: list[Word], action: str, place: Place) -> str:
    """A package that is put where every project's programs lie, and that not everybody knows."""
    everywhere = run.has("-g", "--global") or action == "global"
    named = operands[2:] if action == "global" else operands[1:]
    if not everywhere or not {"install", "i", "add"}.intersection(word.value for word in operands[:2]):
        return ""
    plain = (re.sub(r"(?<=.)@[^/]*$", "", word.value) for word in named if HOLE not in word.value)
    return next((one for one in plain if one[:1] not in "./" and not _is_known(one, run, place)), "")


def _foreign(run: Run, operands: list[Word], action: str) -> str | None:
    """A repository, an archive or an index that packages are taken from, where it is not the usual one."""
    if action not in _ACTIONS and run.program not in _ALWAYS and run.program not in _FETCHERS:
        return None
    running = run.program in ("npx", "bunx", "pnpx", "uvx") or action in _RUNS
    if not (running or action in _BRINGS or run.program in _ALWAYS or (action == "config" and run.program in _SETS)):
        return None
    names = operands if run.program in _FETCHERS and run.program != "pipx" else operands[1:]
    values = run.values
    if running and names:
        values = values[: next(at for at, word in enumerate(run.arguments) if word is names[0]) + 1]
    for at, value in enumerate(values):
        if value.isalnum():
            continue
        if _SOURCE.match(value) and not _USUAL.fullmatch(value) and not (at and values[at - 1] in _NO_SOURCE):
            return value[:60]
        if "://" in value and ((run.program.startswith("nix") and "fetch" in value) or '"url"' in value):
            return value[:60]
        if HOLE in value and at and values[at - 1] in _INDEXES:
            return values[at - 1]
    if run.program == "brew" and (tapped := next((one.value for one in names if one.value.count("/") == 2), "")):
        return tapped if not tapped.startswith("homebrew/") else None
    if run.program in _NODE and (action in ("install", "i", "add") or (action == "create" and run.program == "bun")):
        for one in names:
            here = any(os.path.exists(os.path.join(folder, one.value)) for folder in run.folders)
            if _BY_REPOSITORY.fullmatch(one.value) and not here:
                return one.value
    return None


def _fetches(run: Run, operands: list[Word], action: str) -> bool:
    """Whether what it runs is brought without a question where it is not here: `npx -y`, `pnpm dlx`, `uvx`."""
    if run.program == "npm":
        return action in ("exec", "x")
    if run.program == "uv":
        return [word.value for word in operands[:2]] == ["tool", "run"]
    if run.program in ("pnpm", "yarn", "bun"):
        return action in ("dlx", "x")
    return run.program in _FETCHES_ALWAYS or (run.program == "pipx" and action == "run")


def _find_added(run: Run, operands: list[Word], action: str, place: Place) -> str:
    """A package that is brought for one run, and that neither everybody nor the project knows: `uv run --with x`."""
    at = {"uvx": 0, "pipx": 1, "uv": 2 if action == "tool" else 1}.get(run.program, -1)
    if at < 0 or (run.program != "uvx" and action not in ("run", "tool")):
        return ""
    program = operands[at] if len(operands) > at else None
    before = run.arguments[: next((n for n, word in enumerate(run.arguments) if word is program), None)]
    given = ",".join(word.value for word in values_of(run.program, before, ("--with",)))
    names = [re.split(r"[=<>~!@\[; ]", one.strip(), maxsplit=1)[0] for one in given.split(",")]
    unknown = (one for one in names if one and HOLE not in one and "/" not in one and one[0] != ".")
    return next((one for one in unknown if not _is_library(one, place) and not _is_known(one, run, place)), "")


def _is_library(name: str, place: Place) -> bool:
    """A library that everybody knows, or that the project itself names."""
    plain = re.sub(r"[._]", "-", name).casefold()
    if plain in known_names("libraries"):
        return True
    meant = re.compile(rf"(?<![\w.-]){re.escape(plain).replace(re.escape('-'), '[-_.]')}(?![\w-])", re.IGNORECASE)
    for file in ("pyproject.toml", "requirements.txt", "uv.lock"):
        try:
            with open(os.path.join(place.root, file), encoding="utf-8", errors="replace") as opened:
                if meant.search(opened.read(1_000_000)):
                    return True
        except OSError:
            continue
    return False


def _package(run: Run) -> str:
    """Its name, without a version."""
    operands = [word for word in run.operands(_VALUED) if word.value not in ("dlx", "x", "exec", "run", "tool")]
    before = run.arguments[
        : next((at for at, word in enumerate(run.arguments) if operands and word is operands[0]), None)
    ]
    options = ("--from", "--spec") if run.program in ("uvx", "uv", "pipx") else ("--package", "-p")
    given = option_value(before, *options)
    name = given.value if given is not None else operands[0].value if operands else ""
    return "" if HOLE in name else re.sub(r"(?<=.)(?:@|[=<>~]=|\[)[^/]*$", "", name)


def _is_known(name: str, run: Run, place: Place) -> bool:
    """Known to everybody, or installed in the project. Any other may be a name that somebody mistyped."""
    if name in known_names("packages") or name in ("rightcall", "npm") or _OF_WELL_KNOWN.fullmatch(name):
        return True
    return "/" not in name and any(
        os.path.exists(os.path.join(folder, "node_modules", ".bin", name)) for folder in (*run.folders, place.root)
    )


# ── containers ──

CONTAINERS = frozenset(("docker", "podman", "nerdctl"))
_HALTS = frozenset(("stop", "restart", "pause", "update"))


def container_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    """Folders of the machine that a container is let into."""
    for at, value in enumerate(run.values):
        told = ""
        if value in ("-v", "--volume", "--mount") and at + 1 < len(run.values):
            told = run.values[at + 1]
        elif value.startswith(("--volume=", "--mount=", "-v/", "-v~", "-v.")):
            told = value.partition("=")[2] or value[2:]
        found = re.search(r"(?:source|src)=([^,]+)", told)
        source = found[1] if found else told.partition(":")[0]
        if source and source[0] in "/~.":
            for path in run.wholes(Word(source), place):
                if place.is_everything(path) or place.holds_credentials(path):
                    yield RuleHit("escalates", f"{run.program} -v {source}")
                    return
    action = next((one for one in run.values if one in _HALTS), "")
    if action and not CONTAINERS.isdisjoint(run.printed + (run.carried if run.more else ())):
        yield RuleHit("destroys", f"{run.program} {action} $({run.program} …)")  # whatever runs, no name
    if run.elsewhere and not {"up", "down", "restart", "start", "stop", "pull", "run"}.isdisjoint(run.values[:4]):
        yield RuleHit(
            "publishes", f"ssh … {run.program} {' '.join(run.values[:2])}"
        )  # what is a try here is one's work there
    host = run.option("-H", "--host") if run.values[:1] and run.values[0].startswith(("-H", "--host")) else None
    if host is not None and (kind := why_dangerous("DOCKER_HOST", host.value)):
        yield RuleHit(kind, f"{run.program} -H {host.value}")
    yield from compose_rules(run, place)
    if "inspect" in run.values[:2] and any("Env" in one for one in run.values):
        yield RuleHit("credentials", f"{run.program} inspect")
    if any(re.fullmatch(r"--(?:net|network|pid|ipc|uts|userns)=host", one) for one in run.values):
        yield RuleHit("escalates", f"{run.program} --network=host")


def compose_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """What is done with containers by their names, with an image from anywhere, and with the settings of a project."""
    compose = run.program.endswith("-compose") or run.values[:1] == ["compose"]
    words = run.operands(VALUED_BY_CONTAINERS + " -f --file --project-name --profile" * compose)
    said = [one.value for one in words if one.value not in ("compose", "container")]
    action, names = (said[0], said[1:]) if said else ("", [])
    if compose:
        if action in ("config", "convert") and not run.has(*_NAMES_ONLY):
            yield RuleHit("credentials", f"{run.program} compose {action}")
    elif action in ("run", "create") and names and not is_known_image(names[0]):
        yield RuleHit("network", f"{run.program} {action} {names[0]}")
    if action in ("exec", "attach", "cp") and names and (where := named_production("", names[0].partition(":")[0])):
        yield RuleHit("publishes", f"{run.program} {action} {where[1:]}")


_NAMES_ONLY = ("-q", "--quiet", "--services", "--volumes", "--images", "--profiles", "--hash", "--no-interpolate")


def kubectl_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """A shell in a cluster, that nobody judges what is typed into."""
    if "rsh" in run.values[:3]:
        yield RuleHit("publishes", f"{run.program} rsh")
    elif "exec" in run.values[:6] and "--" in run.values:
        started = run.arguments[run.values.index("--") + 1 :]
        if started and basename(started[0].value) in SHELLS and shell_code(started[1:]) is None:
            yield RuleHit("publishes", f"{run.program} exec … {started[0].value}")
