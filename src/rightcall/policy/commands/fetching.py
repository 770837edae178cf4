"""What a command line brings from the network, and whether a later command of the same line runs it:
`curl -o x … && sh x`, `git clone … && cd y && make`."""

import os
import re
from collections.abc import Iterator

from msgspec import DecodeError, json

from rightcall.base.json.marks import Late
from rightcall.policy.commands.git import FETCHERS, Found, Run, writes_to
from rightcall.policy.commands.inline import interpreter
from rightcall.policy.commands.options import action_at, option_value
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.sending import addresses
from rightcall.policy.commands.shell import Simple
from rightcall.policy.commands.words import HOLE, Word
from rightcall.policy.commands.wrappers import SHELLS

_UNPACKERS = frozenset(("tar", "bsdtar", "gtar", "unzip", "cpio", "7z", "unrar"))
_NAMES_BY_ADDRESS = frozenset(("wget", "fetch", "axel", "aria2c", "lwp-download"))
_BUILDS = frozenset(
    ("make", "gmake", "cmake", "ninja", "meson", "just", "task", "rake", "npm", "yarn", "pnpm", "bun", "npx", "pip",
     "pip3", "uv", "poetry", "pdm", "pipenv", "cargo", "bundle", "composer", "mvn", "gradle", "ant", "sbt", "dotnet",
     "tox", "nox", "pytest", "scons", "bazel", "invoke", "fab", "easy_install", "go", "deno", "mix", "lerna", "nx")
)  # fmt: skip
"""They run code of the folder that they stand in, or are given."""
_LOOKS = frozenset(
    ("ls", "list", "view", "info", "outdated", "audit", "--version", "-v", "--help", "help", "search", "why", "tree",
     "metadata", "show", "freeze", "config", "download", "build-help", "-n", "--dry-run", "mod", "vet", "fmt", "get")
)  # fmt: skip
_COPIES = frozenset(("hg", "svn", "bzr", "jj", "fossil", "degit", "tiged", "giget"))
_BRINGING = FETCHERS | _COPIES | {"git", "lwp-download", "rsync"}
_GIT_BRINGS = frozenset(("clone", "submodule", "pull", "FETCH_HEAD"))
_ADDRESS = Late(r"(?:\w[\w+.-]*://|git@|[\w.-]+@[\w.-]+:)")


class Brought:
    """Files and folders that came from the network in this very line."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.files: set[str] = set()
        self.folders: list[str] = []
        """Whole working copies of somebody else."""
        self.unpacked: list[str] = []
        """Where an archive was unpacked: what is new there is not known."""

    def __bool__(self) -> bool:
        return bool(self.files or self.folders or self.unpacked)

    def note(self, run: Run, command: Simple) -> None:
        """What a command brings."""
        if run.program not in _BRINGING and not run.fed and not self.files:
            return
        fed = not FETCHERS.isdisjoint(run.fed)
        here = run.folders[0]
        if run.program in _UNPACKERS and (fed or any(map(self.has, self._wholes(run, run.arguments)))):
            into = option_value(run.arguments, "-C", "--directory", "-d")
            folder = here if into is None else self.place.whole(here, into.value)
            (self.unpacked if folder == here or os.path.isdir(folder) else self.folders).append(folder)
        for folder in _cloned(run):
            self.folders.append(HOLE if HOLE in folder else self.place.whole(here, folder))
        operands = run.operands() if self.files and run.program in ("mv", "cp", "ln", "install") else []
        if len(operands) > 1 and self.has(self.place.whole(here, operands[0].value)):
            self.files.add(self.place.whole(here, operands[-1].value))
        if not fed and run.program not in FETCHERS and run.program != "lwp-download":
            return
        names = [*writes_to(run), *(one.target for one in command.redirects if one.writes)]
        if run.program in _NAMES_BY_ADDRESS or run.has("-O", "--remote-name"):
            names += [Word(address.path.rpartition("/")[2]) for address in addresses(run)]
        if run.program == "lwp-download":
            names += run.operands()[1:]
        if run.program in ("scp", "rsync"):
            given = [one.value for one in run.operands("-P -i -o -F -e -l -S")]
            names += [Word(f"{given[-1]}/{re.split('[:/]', one)[-1]}") for one in given[:-1] if ":" in one]
        self.files.update(self._wholes(run, names))
        self.files.update(f"${name}" for word in names if HOLE in word.value for name in word.names)

    def has(self, whole: str) -> bool:
        """Whether a path is one of those files, or in one of those folders."""
        return whole in self.files or any(whole == one or whole.startswith(f"{one}/") for one in self.folders)

    def runs(self, run: Run) -> str | None:
        """What of it a command would run; None for nothing."""
        name = run.name.value
        if "/" in name and (
            self.has(self.place.whole(run.folders[0], name)) or (self.unpacked and name.startswith("./"))
        ):
            return name
        inside = any(self.has(folder) or self._is_unpacked(folder) for folder in run.folders)
        if "/" in name and inside:
            return name
        how = interpreter(run.program)
        if run.program in SHELLS or run.program in ("source", ".") or (how is not None and not how.first):
            script = run.operands(" ".join(how.valued) if how is not None else "-o +o -O +O --rcfile")[:1]
            wholes = self._wholes(run, script)
            inside |= bool(self.unpacked) and run.program in SHELLS
            inside |= any(f"${name}" in self.files for word in script for name in word.names)
            inside |= any(self.has(one) or self._is_unpacked(os.path.dirname(one)) for one in wholes)
            if script and "-m" not in run.values and inside:
                return f"{run.program} {script[0].value}".replace(HOLE, "…")
            return None
        if run.program not in _BUILDS or not _LOOKS.isdisjoint(run.values[:2]):
            return None
        values = [Word(one.value.rpartition("=")[2]) for one in run.arguments]
        if inside or any(map(self.has, self._wholes(run, values))):
            return " ".join([run.program, *run.values[:1]])
        return None

    def _is_unpacked(self, folder: str) -> bool:
        """One below the place of an archive, which was not there before."""
        return any(folder.startswith(f"{one}/") for one in self.unpacked) and not os.path.isdir(folder)

    def _wholes(self, run: Run, words: list[Word]) -> list[str]:
        return [self.place.whole(run.folders[0], word.value) for word in words if word.value and HOLE not in word.value]


def _cloned(run: Run) -> Iterator[str]:
    """The folders that a command fills with somebody else's code."""
    if run.program == "git":
        yield from _cloned_by_git(run)
        return
    operands = [one.value for one in run.operands("-b -r --revision --depth")]
    if run.program == "gh" and operands[:2] == ["repo", "clone"] and operands[2:]:
        yield _folder_of(operands[2:4])
    elif run.program in _COPIES:
        named = run.program in ("degit", "tiged", "giget")
        brings = named or operands[:1] in (["clone"], ["co"], ["checkout"], ["export"], ["git"])
        rest = [one for one in (operands if named else operands[1:]) if one != "clone"]
        if brings and rest:
            yield _folder_of(rest)


def _cloned_by_git(run: Run) -> Iterator[str]:
    if _GIT_BRINGS.isdisjoint(run.values):
        return
    at = action_at("git", run.arguments)
    action = run.values[at] if at >= 0 else ""
    rest = Run("git", run.name, run.arguments[at + 1 :], run.folders, values=run.values[at + 1 :])
    operands = [one.value for one in rest.operands("-b --branch --depth -o --origin -c --config -j --reference")]
    if action == "submodule" and operands[:1] == ["add"]:
        action, operands = "clone", operands[1:]
    if action == "clone" and operands:
        above = option_value(run.arguments[:at], "-C")
        yield os.path.join(above.value if above is not None else "", _folder_of(operands))
    elif "FETCH_HEAD" in operands or (action == "pull" and operands and _ADDRESS.match(operands[0])):
        yield "."


def _folder_of(operands: list[str]) -> str:
    name = operands[1] if len(operands) > 1 else re.split(r"[/:]", operands[0].rstrip("/"))[-1].removesuffix(".git")
    return name or "."


# ── what is written and run in one line ─────────────────────────────────────────────────────────────────────────────

_OBEYED = {
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), ("package.json",)),
}
"""The files whose commands a program runs without being told."""


def obeyed_files(program: str) -> tuple[str, ...]:
    return _OBEYED.get(program, ())


def recipes_in(name: str, text: str) -> Iterator[str]:
    """The commands in a file for `make` or `npm`."""
    if name == "package.json":
        try:
            scripts = json.decode(text, type=dict[str, object]).get("scripts")
        except DecodeError:
            return
        if isinstance(scripts, dict):
            yield from (one for one in scripts.values() if isinstance(one, str))  # pyright: ignore[reportUnknownVariableType]
        return
    for line in text.replace("\\\n", " ").split("\n"):
        recipe = line if line.startswith("\t") else line.partition(";")[2] if ":" in line.partition(";")[0] else ""
        if recipe.strip():
            yield re.sub(r"^[\s@+-]+", "", recipe).replace("$$", "$").replace("$@", "x").replace("$<", "x")


# ── packages ──
# Packages that a command brings: one that nobody knows and that is fetched and run in one step, one straight from a
# repository, and another version of RightCall itself.

_FETCHES_ALWAYS = frozenset(("npx", "bunx", "pnpx", "uvx"))
"""Without a terminal `npx` and `npm exec` do not ask before they fetch."""
_FETCHERS = frozenset((*_FETCHES_ALWAYS, "pipx"))
_VALUED = "-p --package -w --workspace --from --with --python --spec --index-url --with-requirements"
_SOURCE = Late(
    r"(?:-{1,2}[A-Za-z-]+=)?(?:[\w.,\[\]-]+ ?@ ?)?(?:git::|sparse\+|(?:git|hg|svn|bzr)\+|git://|git@|ssh://|https?://(?!(?:[^/@]*@)?(?:localhost|127\.)\b)"
    r"|(?:github|gitlab|bitbucket|gist):)"
)
"""What is not taken by its name from the index that everybody uses."""
_USUAL = Late(
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
_BY_REPOSITORY = Late(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.*)?")
_WELL_KNOWN_TEXT = """
    11ty all-contributors astro browserslist bundlesize cucumber-js depcruise eleventy ember eslint_d gatsby grunt gulp
    hardhat jasmine karma knex msw nest newman npm-run-all2 orval pkg postcss-cli protractor remix rescript sequelize
    slidev source-map-explorer stryker svelte-kit syncpack ts-node-dev tsc-watch tslint typechain updtr vue-cli-service
    update-browserslist-db webdriver-manager wdio cap jsonlint json2ts dotenv sort-imports tsx-watch react-router
    ajv alembic ansible-lint autoflake autopep8 ava babel bandit biome black build bump-my-version bumpversion c8 cdk
    changeset check-jsonschema check-manifest cibuildwheel clang-format cloc codespell commitizen commitlint
    concurrently cookiecutter copier cowsay cross-env cspell cypress datamodel-codegen datasette degit depcheck deptry
    detect-secrets djlint docformatter docusaurus dotenv-cli dprint drizzle-kit electron env-cmd esbuild eslint expo
    express-generator fastapi flake8 gh-pages gitleaks gitmoji graphql-codegen griffe hatch http-server httpie husky
    interrogate ipython isort jest jscpd jsdoc json-server jupyter jupyterlab kill-port knip lefthook lerna
    license-checker lighthouse lint-staged live-server llm madge marimo markdownlint markdownlint-cli
    markdownlint-cli2 maturin mintlify mkdocs mocha mutmut mypy nbstripout ncu netlify netlify-cli next ng nodemon nox
    npm-check npm-check-updates npm-run-all nuxi nx nyc openapi-generator openapi-python-client openapi-typescript
    oxlint parcel patch-package pdm pdoc pip pip-audit pip-compile pip-tools playwright plop pm2 pnpm poetry postcss
    pre-commit prettier prisma publint pycowsay pydocstyle pyflakes pylint pyproject-fmt pyright pytest pyupgrade
    quicktype radon react-native react-scripts redocly refurb release-it repomix rimraf rollup ruff safety sass
    semantic-release semgrep sequelize-cli serve shadcn shadcn-ui shx size-limit snyk solhint sort-package-json
    spectral sphinx-build sqlfluff sqlite-utils standard storybook streamlit stylelint surge svelte-check svgo
    swagger-cli swc tailwindcss taplo terser tldr towncrier tox ts-node ts-prune tsc tsd tsup tsx turbo twine ty
    type-coverage typedoc typeorm typescript uv uvicorn validate-pyproject vercel vite vite-node vitepress vitest
    vsce vue-tsc vulture wait-on web-ext webpack webpack-cli wrangler xo yamllint yarn yo yt-dlp zx"""
_WELL_KNOWN = frozenset(_WELL_KNOWN_TEXT.split())
_OF_WELL_KNOWN = Late(
    r"(?:@[\w.-]+/)?create-[\w.-]+|@(?:modelcontextprotocol|angular|nestjs|vue|storybook|babel|biomejs|changesets"
    r"|commitlint|openapitools|redocly|tailwindcss|playwright|anthropic-ai|google|openai|microsoft|sveltejs|astrojs"
    r"|nuxt|vitejs|vercel|sentry|cloudflare|aws-[\w-]+|graphql-codegen|expo|react-native-community|ionic|capacitor"
    r"|typescript-eslint|eslint|mermaid-js|marp-team|arethetypeswrong|github|docusaurus|remix-run|shopify|stoplight"
    r"|apidevtools|lhci)/[\w.-]+"
)
"""Starters of projects, and what comes from makers that everybody knows."""
_OURS = Late(r"(?:.*/)?rightcall(?:[-=<>!~@\[; ].*)?", re.IGNORECASE | re.DOTALL)
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


def package_rules(run: Run, place: Place) -> Iterator[Found]:
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
        yield Found("network", f"{run.program} {source}")
    elif _fetches(run, operands, action) and (name := _package(run)) and not _is_known(name, run, place):
        yield Found("network", f"{run.program} {name}")
    if (
        run.program in _PACKAGERS
        and not _CHANGES.isdisjoint(run.values[:6])
        and any(_OURS.fullmatch(one) for one in run.values if not one.startswith("-"))
    ):
        yield Found("guards", f"{run.program} … rightcall")


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
    if name in _WELL_KNOWN or name == "rightcall" or _OF_WELL_KNOWN.fullmatch(name):
        return True
    return "/" not in name and any(
        os.path.exists(os.path.join(folder, "node_modules", ".bin", name)) for folder in (*run.folders, place.root)
    )
