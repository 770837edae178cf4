"""`[sandbox]`, `[write]`, `[code]`, `[cache]` and `[web]` of the policy file: what code may use that a model has
written, where tools may write, what reading gives, what is kept of results, and what may be fetched.

The defaults are those of a file that says nothing. They permit nothing by themselves: which tools a caller may use,
what needs a person and what is only rehearsed stands in `[policy]`.
"""

from typing import Final, Literal

from msgspec import Struct

LeastTier = Literal["landlock", "namespaces"]


SANDBOX_RANGES: Final[dict[str, tuple[float, float]]] = {
    "seconds": (0.1, 3600),
    "memory": (16, 1_000_000),
    "processes": (1, 10_000),
    "scratch": (1, 1_000_000),
    "output": (1, 100_000_000),
}
"""From and to, for each limit of a program; whole numbers where the least is one."""


class SandboxSettings(Struct, frozen=True):
    """`[sandbox]`: what one program may use, and the least isolation that it needs."""

    seconds: float = 4.0
    memory: int = 512
    """Megabytes, of all its processes together."""
    processes: int = 64
    scratch: int = 128
    """Megabytes of files."""
    output: int = 1_000_000
    """Bytes that it may print."""
    tier: LeastTier = "landlock"
    """The least that will do: `namespaces` is the stronger of the two."""
    python: str = ""
    """The interpreter that runs Python code; empty: the one that rightcall runs on."""
    node: str = ""
    """The program that runs JavaScript; empty: `node` on the PATH."""
    visible: tuple[str, ...] = ()
    """Folders that can be read inside, besides the system's programs."""


class CodeSettings(Struct, frozen=True):
    """`[code]`: what the code tools read."""

    largest_file: int = 1 << 20
    """Bytes of a file that `code/read` and `code/show` open; of a larger one only its size is told."""
    structure: bool = False
    """Whether every `code/read` brings the structure of the file. It costs tokens."""


class CacheSettings(Struct, frozen=True):
    """`[cache]`: the results that an executor keeps."""

    enabled: bool = True
    entries: int = 100
    bytes: int = 10_000_000
    seconds: int = 300
    """How old a result may become, even where nothing it was read from has changed."""


class Check(Struct, frozen=True):
    """`[write.check]`: the command that must succeed before a merge, and what it may use. It runs in the sandbox, in
    the folder that holds the merged files."""

    command: tuple[str, ...] = ()
    """Program and arguments; without any, nothing can be merged."""
    seconds: float = 600.0
    memory: int = 2048
    processes: int = 256
    scratch: int = 1024


class WriteSettings(Struct, frozen=True):
    """`[write]`: what the tools that write may touch at all."""

    folders: tuple[str, ...] = ("experimental", "/tmp")
    """Where `file/save` may save: below the root, or, where it begins with `/`, outside it."""
    tests: tuple[str, ...] = (
        "tests/**", "test/**", "spec/**", "**/tests/**", "**/test/**", "**/__tests__/**",
        "**/test_*.py", "**/*_test.py", "**/*_test.go", "**/*.test.*", "**/*.spec.*", "**/*Test.java", "**/*_spec.rb",
    )  # fmt: skip
    """What counts as a test file, which is all that `code/create-test` creates."""
    protected: tuple[str, ...] = ("main", "master", "trunk", "develop", "production", "release/*", "releases/*")
    """Branches that change by a reviewed merge and in no other way."""
    frozen: tuple[str, ...] = ()
    """Branches that not even a merge changes."""
    locked: tuple[str, ...] = (
        ".github/**", ".gitea/**", ".forgejo/**", ".gitlab/**", ".gitlab-ci*", "**/*.gitlab-ci.{yml,yaml}",
        ".circleci/**", ".buildkite/**", ".woodpecker*", ".drone.*", ".travis.{yml,yaml}", ".cirrus.*",
        ".semaphore/**", ".tekton/**", "{.,}appveyor.{yml,yaml}", "**/Jenkinsfile*", "**/azure-pipelines*",
        ".azure-pipelines/**", ".azuredevops/**", "bitbucket-pipelines.{yml,yaml}",
        "**/cloudbuild*.{yml,yaml,json}", "**/buildspec*.{yml,yaml}", "codefresh.{yml,yaml}", ".codefresh/**",
        "wercker.{yml,yaml}", "bamboo-specs/**", ".teamcity/**", ".build.yml", ".builds/**", ".vela.{yml,yaml}",
        "screwdriver.yaml", ".harness/**", ".husky/**", "{.,}lefthook.*", ".gitattributes", "**/.gitattributes",
        ".gitmodules", ".pre-commit-config.yaml", "**/rightcall.toml",
    )  # fmt: skip
    """Paths that no tool writes: mostly what CI systems and git hooks run by themselves."""
    reviews: int = 1
    """Approvals that a merge needs, each by somebody else than the author."""
    check: Check = Check()


class WebSettings(Struct, frozen=True):
    """`[web]`: what `web/fetch` and `web/search` may reach, and what one call may cost."""

    seconds: float = 20.0
    """From looking the name up to the last byte, redirects included."""
    bytes: int = 2_000_000
    """Of one answer, as it comes and unpacked."""
    redirects: int = 5
    ports: tuple[int, ...] = (80, 443)
    """0 stands for any."""
    sites: tuple[str, ...] = ()
    """Where the list names any, nothing else is fetched; patterns as in `[policy.urls]`."""
    networks: tuple[str, ...] = ()
    """Ranges outside the public internet that may be reached all the same, such as 10.0.0.0/8."""
    search: str = ""
    """Address of a SearXNG-compatible server; empty: there is no `web/search`."""
