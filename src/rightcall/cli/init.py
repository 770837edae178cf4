"""Write a policy file, rightcall.toml, with every key at its default and what it means."""

import os
import stat
from argparse import ArgumentParser, Namespace
from typing import get_args

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import InputError
from rightcall.cli.terminal import say
from rightcall.errors import ConfigError
from rightcall.policy.settings import PRESETS, Limits, Preset, StageName, Window

# ── the template ──
# The policy file that `rightcall init` writes: every key at its default, with what it means.
#
# Two kinds of comments: `# words` explain, `#key = value` is an example that works once its `#` is gone.


def template(preset: Preset = "personal", stage: StageName = "read-only") -> str:
    """The text of a policy file that says nothing but its preset and stage."""
    return _TEXT.replace("@preset@", preset).replace("@stage@", stage).replace("@limits@", _limits(PRESETS[preset]))


def _limits(limits: Limits) -> str:
    """The preset's numbers as examples: written out they would no longer follow the preset."""
    tools = [f'#"{tool}" = {_window(window)}' for tool, window in limits.tools.items()]
    return "\n".join(
        [f"#all = {_window(limits.all)}", f"#caller = {_window(limits.caller)}", "[policy.limits.tools]", *tools]
    )


def _window(window: Window) -> str:
    said = [f"{key} = {value}" for key in window.__struct_fields__ if (value := getattr(window, key))]
    return f"{{ {', '.join(said)} }}"


_TEXT = """\
# The policy of RightCall: which tool calls may run, for whom, how often, and what is recorded.
# Every key stands at its default. A line such as `#key = value` is an example: take its `#` away and it holds.
# `rightcall policy check` says whether this file is right; a running program takes a changed file at once,
# and keeps the old one, and says why, when there is a mistake in the new one.

version = 1

# ── Before anything is decided: how calls are read and repaired ──────────────────────────────────────────────

[gate]
# A call that does not fit its tool: "block" refuses it with a hint, "warn" warns and lets it run, "observe" only notes.
mode = "block"
# A tool nobody knows: "suggest" refuses with "did you mean", "refuse" plainly, "pass" lets it through unchecked.
unknown_tool = "suggest"
# An argument the tool does not have: "drop", "keep" or "refuse".
unknown_argument = "drop"
# Rule packs, by name (`rightcall packs`) or path.
packs = []
# false: nothing is repaired; calls are still checked.
enabled = true
# Whether a repaired call leaves a line in the log.
log_normalizations = true
# false: a call that could not be repaired goes through as it was written.
fail_on_normalization_failure = true
# The longest arguments in characters, and their deepest nesting.
max_text = 1_000_000
max_depth = 200
# "open": prompts end inside the model's reasoning, so calls before its closing tag do not count. "auto", "closed".
reasoning = "auto"

# Who emitted the call, which model, what one tool needs beside its schema, what one host does differently.
# All that can be said of a tool is in docs/reference/packs.md.
#[gate.providers.ollama]
#enabled = true
#strategies = ["python_ast", "regex_quotes", "structure", "manual_repair"]
#reasoning = "auto"
#[gate.models."deepseek-r1*"]
#reasoning = "open"
#[gate.tools.my_tool]
#aliases = { message = "text" }
#[gate.hosts.claude-code]
#mode = "block"
#unknown_tool = "pass"
#unknown_argument = "drop"
#on_failure = "deny"
#deadline = 5

# ── What may run ─────────────────────────────────────────────────────────────────────────────────────────────

[policy]
# The limits to start from: "personal" for your own client on your own machine, "swarm" for many agents.
preset = "@preset@"
# Which tools are allowed: "read-only", "sandbox" (runs code, isolated), "limited-write", "full".
stage = "@stage@"
# What tools that write, and tools that execute, may do: "deny", "dry-run" (shown, not made), "ask" (a person approves
# each call) or "allow". While a line is commented out, such tools are off; those that `stage` or `allow` lists are
# shown and not made. `network` likewise, for tools that reach other machines.
#write = "ask"
#execute = "ask"
#network = "ask"
# Rounds of tool calls for one request.
rounds = 5
# The how many-th identical call within a minute is refused when nothing has changed; 0: none.
repeats = 3
# Tools that may be polled: the same call again and again is not a loop. Whole names, or patterns with `*`.
repeatable = []
# Refusals of the same call within an hour after which it is not even looked at; 0: never.
quarantine = 5
# Whose records a caller sees with `data/list`, `data/read`, `debug/logs` and `analytics/tool-usage`: "own", or "all"
# for everybody's.
records = "own"
# Tools that everybody may use besides the stage's, and tools that nobody may use. Names, or patterns with `*`.
# A denial beats every permission, in every spelling of the name.
allow = []
deny = []

# How many calls may begin in a minute, an hour and, by `burst`, a second; 0: any number.
# The preset's numbers hold where nothing is said here: of all callers together, of each caller, of a caller's tool.
[policy.limits]
@limits@

# The same for tools of one name, or of a pattern with `*`.
#[policy.tools."code/create-test"]
#write = "allow"

# Which calls wait for a person (`rightcall approvals`), besides those with the word "ask".
[policy.approval]
# Tools that always ask. Names, or patterns with `*`.
tools = []
# Seconds until a question that nobody answers counts as no, and a yes that nobody uses is void.
expires = 600
# A call with side effects that was repaired with less confidence than this always asks.
confidence = 0.9
# A tool that is no longer defined as it was, or whose MCP server is reached in another way, asks before it runs again.
definitions = true
# Questions of one caller that may wait at a time, and how many bytes they may hold. More are refused.
waiting = 20
waiting_bytes = 1_000_000

# What one call may cost.
[policy.budgets]
# How long a tool may run.
seconds = 30
# How much of its result a model is shown.
tokens = 4000
# Bytes of its result that are kept at all.
output = 1_000_000
# Calls of one message that run at once.
parallel = 8
#[policy.budgets.tools."code/search"]
#seconds = 10

# Files and folders, counted from the root. `*` stays within a name, `**` spans folders.
[policy.paths]
# Nothing below these is touched.
deny = []
# Exceptions to the built-in names of secrets (`.env`, `*.pem`, …).
allow = []
# Dotfiles that may be read besides the built-in ones (`.gitignore`, `.github/**`, …).
dotfiles = []

# Command lines in arguments, by their words: "git push", "rm -r", "docker *". See docs/reference/command-lines.md;
# try one with `rightcall policy command 'git push --force'`.
[policy.commands]
# These never run.
deny = []
# These ask a person.
ask = []
# The starter list does not ask about these. A denial and a refused path stay.
allow = []
# Ask before what destroys, publishes, reads credentials, runs downloads or escalates.
starter = true

# Addresses in arguments and commands: "*.example.com", "https://example.com/docs", "10.0.0.0/8".
[policy.urls]
deny = []
ask = []
allow = []
# Ask before the addresses where a cloud hands out credentials.
starter = true

# ── Who: what is different for one caller ────────────────────────────────────────────────────────────────────

#[callers.teacher]
#stage = "sandbox"
#allow = ["file/save"]
#deny = ["code/blame"]
#write = "ask"
#execute = "allow"
#network = "deny"
#records = "all"
# Rooms that it shares with other callers, whatever their contexts (pack "room").
#rooms = ["debug"]
#limits = { minute = 20, hour = 500 }
#budgets = { seconds = 60 }

# `only` takes the place of stage and `allow`.
#[callers.guest]
#only = ["ping", "code/read"]

# ── The MCP servers that the gateway joins (`rightcall serve`), and what their tools do ──────────────────────

#[servers.git]
#command = ["mcp-server-git", "--repository", "."]
#env = { GIT_PAGER = "cat" }
#cwd = "."
#effects = { "git_log" = ["read"], "git_status" = ["read"], "git_diff*" = ["read"] }
# Its tools that are offered, those that are not, those that always ask. Its own names, or patterns with `*`.
#allow = ["*"]
#deny = ["git_reset"]
#ask = ["git_commit"]
# What stands before its tools in the gateway's list, its name if nothing is said; "": they keep their names.
#prefix = "git"
# Seconds for one call.
#timeout = 60
#enabled = true

#[servers.search]
#url = "http://127.0.0.1:8000/mcp"
#headers = { x-team = "tools" }

# ── The router: does a request need a tool, which one, and is it sure enough? ────────────────────────────────

[router]
# false: no request is given a tool.
enabled = true
# How the need for a tool is found: "learned", or by the design's heuristics, "keywords" and "regex".
mode = "learned"
# From this confidence on a chosen tool runs; below it, "ask" asks the user and "skip" answers without the tool.
threshold = 0.7
below = "ask"
# Times that a request goes round again with a tool's result.
reinjections = 3
# Tools that the selecting model is shown.
candidates = 10
# How the models are asked, and the longest answers in tokens. Without `answer_temperature` the server's own holds.
selection_temperature = 0.15
selection_tokens = 500
review_temperature = 0.3
review_tokens = 200
#answer_temperature = 0.7
answer_tokens = 1000
top_p = 0.9
# What a whole request may take: seconds, of them for one question to a model, and tokens of prompts and answers.
seconds = 60
model_seconds = 30
tokens = 20_000
# When the MCP gateway would list more tools than this, it lists two to find and run them instead; 0: never.
search = 0

# The models, behind any OpenAI-compatible endpoint: "light" selects, "prime" reviews and answers; one does for both.
# `key_env` names the environment variable with the key; `schema = false` where the server knows no JSON schema.
#[router.light]
#url = "http://127.0.0.1:8080/v1"
#model = "small"
#[router.prime]
#url = "https://models.example.com/v1"
#model = "large"
#key_env = "MODEL_KEY"
#headers = { x-team = "tools" }
#schema = true

# ── The sandbox: what a program may use that a model has written ─────────────────────────────────────────────

[sandbox]
seconds = 4
# Megabytes: of memory for all its processes together, and of files.
memory = 512
scratch = 128
processes = 64
# Bytes that it may print.
output = 1_000_000
# The least isolation that will do: "landlock", or "namespaces", which is stronger. `rightcall sandbox doctor` says
# what this machine has; where it has less, nothing runs.
tier = "landlock"
# Whole paths of the programs; empty: the Python that rightcall runs on, and `node` on the PATH.
python = ""
node = ""
# Folders that can be read inside, besides the system's programs.
visible = []

# ── Writing: what the tools that write may touch, whoever says yes ───────────────────────────────────────────

[write]
# Where `file/save` may save: below the root, or outside it where it begins with "/".
folders = ["experimental", "/tmp"]
# What counts as a test file, which is all that `code/create-test` creates.
tests = [
  "tests/**", "test/**", "spec/**", "**/tests/**", "**/test/**", "**/__tests__/**", "**/test_*.py", "**/*_test.py",
  "**/*_test.go", "**/*.test.*", "**/*.spec.*", "**/*Test.java", "**/*_spec.rb",
]
# Branches that change by a reviewed merge and in no other way; and those that not even a merge changes.
protected = ["main", "master", "trunk", "develop", "production", "release/*", "releases/*"]
frozen = []
# Paths that no tool writes: mostly what CI systems and git hooks run by themselves.
locked = [
  ".github/**", ".gitea/**", ".forgejo/**", ".gitlab/**", ".gitlab-ci*", "**/*.gitlab-ci.{yml,yaml}",
  ".circleci/**", ".buildkite/**", ".woodpecker*", ".drone.*", ".travis.{yml,yaml}", ".cirrus.*", ".semaphore/**",
  ".tekton/**", "{.,}appveyor.{yml,yaml}", "**/Jenkinsfile*", "**/azure-pipelines*", ".azure-pipelines/**",
  ".azuredevops/**", "bitbucket-pipelines.{yml,yaml}", "**/cloudbuild*.{yml,yaml,json}", "**/buildspec*.{yml,yaml}",
  "codefresh.{yml,yaml}", ".codefresh/**", "wercker.{yml,yaml}", "bamboo-specs/**", ".teamcity/**", ".build.yml",
  ".builds/**", ".vela.{yml,yaml}", "codemagic.{yml,yaml}", "bitrise.{yml,yaml}", "{.,}zuul.{yml,yaml}",
  "{.,}zuul.d/**", "{.,}packit.{yml,yaml}", ".copr/**", "screwdriver.yaml", ".harness/**", ".husky/**",
  "{.,}lefthook.*", ".gitattributes", "**/.gitattributes", ".gitmodules", ".pre-commit-config.yaml",
  "**/rightcall.toml",
]
# Approvals that a merge needs, each by somebody else than the author.
reviews = 1

# What must succeed before a merge: program and arguments. It runs in the sandbox, where the merged files are. Without
# a command nothing can be merged.
[write.check]
#command = ["python3", "-m", "pytest", "-q"]
seconds = 600
memory = 2048
processes = 256
scratch = 1024

# ── Reading: what the code tools open, and which results are kept ────────────────────────────────────────────

[code]
# The largest file that `code/read` and `code/show` open, in bytes.
largest_file = 1_048_576
# true: every `code/read` brings the structure of the file, its imports, classes and functions. It costs tokens.
structure = false

[cache]
# Results are kept together with the state of what was read; any change of that, and they no longer count.
enabled = true
# At most so many results, so many bytes of them, and none older than so many seconds.
entries = 100
bytes = 10_000_000
seconds = 300

# ── The web: what `web/fetch` and `web/search` may reach. They are off: `allow` above has to name them ───────

[web]
seconds = 20
# Bytes of one answer.
bytes = 2_000_000
redirects = 5
ports = [80, 443]
# Where the list names any, nothing else is fetched, such as "docs.python.org" or "*.example.org".
sites = []
# Ranges of private addresses that may be reached all the same, such as "10.0.0.0/8".
networks = []
# A SearXNG-compatible server. Without one there is no `web/search`.
search = ""

# ── What is recorded ─────────────────────────────────────────────────────────────────────────────────────────

[audit]
# The database of audit, limits and approvals, counted from the folder of this file.
path = ".rightcall/audit.db"
# Names of arguments that are secret besides the built-in ones (`password`, `token`, `api_key`, …).
redact = []
"""


EXAMPLES = """\
examples:
  rightcall init
  rightcall init --root my-project --preset swarm --stage sandbox
  rightcall init --force
  rightcall init --print
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help="Write into this folder (default: the current one)")
    parser.add_argument(
        "--preset",
        choices=get_args(Preset),
        default="personal",
        help="Start from these limits (default: personal; swarm: many agents)",
    )
    parser.add_argument(
        "--stage", choices=get_args(StageName), default="read-only", help="Allow this much (default: read-only)"
    )
    parser.add_argument("--force", action="store_true", help="Replace an existing file; the old one is kept as .bak")
    parser.add_argument("--print", action="store_true", help="Print the file; write nothing")


def run(options: Namespace) -> int:
    text = template(options.preset, options.stage)
    if options.print:
        say(text.removesuffix("\n"))
        return OK
    if not os.path.isdir(options.root):
        raise InputError("there is no such folder; --root takes one that exists", source=options.root)
    file = os.path.join(options.root, POLICY_FILE)
    kept = _replace(file, text) if options.force and os.path.lexists(file) else _create(file, text)
    say(*_describe_next_steps(options, file, kept), *_trust(file, text))
    return OK


def _trust(file: str, text: str) -> list[str]:
    """What we have written ourselves, whole, needs no question; what is wrong, if it cannot be kept."""
    from rightcall.policy.ledger import give_to_own

    try:
        give_to_own(file, text.encode())
    except ConfigError as error:
        return [f"  it only makes things stricter until it is trusted, which failed: {escaped(str(error))}"]
    return []


def _create(file: str, text: str) -> None:
    """Only where nothing is, even if somebody else writes there at the same moment; whole or not at all."""
    try:
        opened = open(file, "x", encoding="utf-8", newline="\n", opener=_own_alone)  # noqa: SIM115  (closed below)
    except FileExistsError:
        raise InputError("is there already; --force replaces it and keeps it as .bak", source=file) from None
    try:
        with opened:
            opened.write(text)
    except OSError:
        os.unlink(file)
        raise


def _own_alone(path: str, flags: int) -> int:
    """Whatever the umask is: a policy that others can write is refused by every command."""
    return os.open(path, flags, 0o644)


def _replace(file: str, text: str) -> str | None:
    """In one step, so that a running program never sees half a file. Returns where the old one is kept."""
    if os.path.isdir(file):
        raise InputError("is a folder, not a policy file", source=file)
    kept = _keep(file)
    beside = f"{file}.{os.getpid()}.new"
    _create(beside, text)
    os.replace(beside, file)
    return kept


def _keep(file: str) -> str | None:
    """A copy under a name that is free: an older copy may be the only one of what somebody wrote by hand."""
    from shutil import copyfileobj, copymode

    if not os.path.exists(file):  # a link that leads nowhere
        return None
    number = 0
    while True:
        kept = f"{file}.bak{number or ''}"
        if not stat.S_ISREG(os.lstat(file).st_mode):  # what a link or a pipe leads to is not read
            if not os.path.lexists(kept):
                os.rename(file, kept)
                return kept
            number += 1
            continue
        try:
            with open(file, "rb") as old, open(kept, "xb") as copy:
                copyfileobj(old, copy)
        except FileExistsError:
            number += 1
            continue
        copymode(file, kept)
        return kept


def _describe_next_steps(options: Namespace, file: str, kept: str | None) -> list[str]:
    """What was done, and what to try next."""
    from shlex import quote

    named = "" if options.root == "." else f" {escaped(quote(file))}"
    return [
        f"wrote {escaped(file)}",
        f"  preset {options.preset}, stage {options.stage}; tools that write or execute only show what they would do",
        *([f"  the file that was there is now {escaped(kept)}"] if kept else []),
        "next:",
        f"  rightcall policy check{named}",
        f"  rightcall policy explain{named} --as teacher code/execute/python",
        "  keep .rightcall/ out of version control: the audit will be there",
    ]
