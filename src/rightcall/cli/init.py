"""Write a policy file, rightcall.toml, with every key at its default and what it means."""

import os
import stat
from argparse import ArgumentParser, Namespace
from shlex import quote
from typing import TYPE_CHECKING, Any, get_args

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import SHARED, InputError, json_option
from rightcall.cli.persons import waiting
from rightcall.cli.terminal import Style, many, tell, wrap
from rightcall.errors import ConfigError
from rightcall.policy.settings import PRESETS, Limits, Preset, StageName, Window

if TYPE_CHECKING:
    from rightcall.tools.git.run import GraphReport

# ── the template ──
# The policy file that `rightcall init` writes: every key at its default, with what it means.
#
# Two kinds of comments: `# words` explain, `#key = value` is an example that works once its `#` is gone.


def template(preset: Preset = "personal", stage: StageName = "read-only") -> str:
    """The text of a policy file that says nothing but its preset and stage."""
    return _TEXT.replace("@preset@", preset).replace("@stage@", stage).replace("@limits@", _limits(PRESETS[preset]))


def _limits(limits: Limits) -> str:
    """The preset's numbers as examples: written out they would no longer follow the preset."""
    lines = [
        "# All callers together.",
        f"#all = {_window(limits.all)}",
        "# Each caller.",
        f"#caller = {_window(limits.caller)}",
        "# Calls of each caller in a day (UTC); 0: any number.",
        "calls_per_day = 0",
        "# Tokens that models use for each caller in a day, through the proxy; 0: any number.",
        "tokens_per_day = 0",
        "[policy.limits.tools]",
    ]
    for tool, window in limits.tools.items():
        lines += [f"# Each caller's calls of `{tool}`.", f'#"{tool}" = {_window(window)}']
    return "\n".join(lines)


def _window(window: Window) -> str:
    said = [f"{key} = {value}" for key in window.__struct_fields__ if (value := getattr(window, key))]
    return f"{{ {', '.join(said)} }}"


_TEXT = """\
# The policy of RightCall: which tool calls may run, for whom, how often, and what is recorded.
# Every key has its default. A line such as `#key = value` is an example. Uncomment a line to enable it.
# Run `rightcall policy check` to check this file. A running program reloads it after a change; an invalid
# file is ignored, with a warning, and the previous policy stays active.

version = 1

# ── How calls are read and repaired ──────────────────────────────────────────────────────────────────────────

[gate]
# A call that does not fit its tool: "block" refuses it with a hint, "warn" warns and lets it run, "observe" only notes.
# The proxy passes such a call on unchanged; `rightcall proxy --retry 1` asks the model again.
mode = "block"
# An unknown tool: "suggest" refuses with "did you mean", "refuse" plainly, "pass" lets it through unchecked.
unknown_tool = "suggest"
# An unknown argument: "drop", "keep" or "refuse".
unknown_argument = "drop"
# Rule packs, by name (`rightcall packs`) or path.
packs = []
# false: nothing is repaired; calls are still checked.
enabled = true
# Log each repaired call.
log_normalizations = true
# false: a call that cannot be repaired passes unchanged.
fail_on_normalization_failure = true
# The longest arguments, in characters.
max_text = 1_000_000
# The deepest nesting of arguments.
max_depth = 200
# "open": prompts end inside the model's reasoning, so calls before its closing tag do not count. "auto", "closed".
reasoning = "auto"

# The last resort: a model that says how a call was meant to be built if nothing else can repair it. Names and values
# of the call stay as they were written. Not set: no model is asked.
#[gate.llm]
# The base URL of its server.
#url = "http://127.0.0.1:8080/v1"
# The model's name on the server. Not set: the model that it serves.
#model = "small"
# The environment variable that has the key.
#key_env = "MODEL_KEY"
# HTTP headers of each request to it.
#headers = { x-team = "tools" }
# Questions, tokens and seconds that one hour may use.
#calls = 20
# See calls.
#tokens = 20_000
# See calls.
#seconds = 120
# Seconds of one question.
#timeout = 10
# true: also for tools that do more than read. Such a call still waits for a person.
#side_effects = false
# Settings for one provider.
#[gate.providers.ollama]
# false: its calls are not repaired.
#enabled = true
# The ways to repair that are tried; not set: all.
#strategies = ["python_ast", "regex_quotes", "structure", "manual_repair"]
# As in [gate].
#reasoning = "auto"
# Settings for models of one name, or of a pattern with `*`.
#[gate.models."deepseek-r1*"]
# As in [gate].
#reasoning = "open"
# Settings for one tool; `rightcall docs packs` lists all of them.
#[gate.tools.my_tool]
# Other names of arguments, each with the right one.
#aliases = { message = "text" }
# Settings for one host: a hook, the proxy, a framework.
#[gate.hosts.claude-code]
# As in [gate].
#mode = "block"
# As in [gate].
#unknown_tool = "pass"
# As in [gate].
#unknown_argument = "drop"
# What a hook says if it cannot decide: "deny" or "allow".
#on_failure = "deny"
# Seconds in which a hook answers.
#deadline = 5

# ── What may run ─────────────────────────────────────────────────────────────────────────────────────────────

[policy]
# Default limits: "personal" for your own client on your own machine, "swarm" for many agents.
preset = "@preset@"
# Allowed tools: "read-only", "sandbox" (runs code, isolated), "limited-write", "full".
stage = "@stage@"
# What tools that write may do: "deny", "dry-run" (shown, not made), "ask" (a person approves each call) or "allow".
# Not set: they are off; those that `stage` or `allow` lists are shown and not made.
#write = "ask"
# The same for tools that execute.
#execute = "ask"
# The same for tools that only reach other machines. Not set: no rule.
#network = "ask"
# Rounds of tool calls for one request.
rounds = 5
# Refuse the Nth identical call in a minute if nothing changed. 0 disables this.
repeats = 3
# Tools that may be polled: identical calls are not refused as a loop. Whole names, or patterns with `*`.
repeatable = []
# Quarantine a call after this many refusals in an hour. 0 disables this.
quarantine = 5
# Records that a caller sees with `data/list`, `data/read`, `debug/logs` and `analytics/tool-usage`: "own" or "all".
records = "own"
# Tools allowed besides those of the stage. Names, or patterns with `*`.
allow = []
# Tools denied to everybody. Names, or patterns with `*`. Deny beats allow, in every spelling of the name.
deny = []

# Calls per minute, per hour and, as `burst`, per second; 0: no limit. Defaults come from the preset.
[policy.limits]
@limits@

# `write`, `execute` and `network` for tools of one name, or of a pattern with `*`.
#[policy.tools."code/create-test"]
# As in [policy].
#write = "allow"

# Calls that need approval (`rightcall approvals`), besides those with the word "ask".
[policy.approval]
# Tools that always need approval. Names, or patterns with `*`.
tools = []
# Seconds until an unanswered approval is denied, and an unused one expires.
expires = 600
# A call with side effects always needs approval if its repair has less confidence than this.
confidence = 0.9
# A tool needs approval once after its definition, or the command of its MCP server, changed.
definitions = true
# Pending approvals of one caller at a time. More are refused.
waiting = 20
# Their size together, in bytes. More are refused.
waiting_bytes = 1_000_000

# How you hear that a call waits.
[approvals]
# A program with its arguments, or an address: it gets id, tool and caller as JSON, on standard input or by POST.
notify = []

# What one call may cost.
[policy.budgets]
# Longest run of a tool, in seconds.
seconds = 30
# Length of the result that a model sees, in tokens.
tokens = 4000
# Bytes of the result that are kept.
output = 1_000_000
# Calls of one message that run in parallel.
parallel = 8
# The same for tools of one name.
#[policy.budgets.tools."code/search"]
# Longest run of this tool.
#seconds = 10

# Files and folders, counted from the root. `*` stays within a name, `**` spans folders.
[policy.paths]
# Never read or written.
deny = []
# Exceptions to the built-in names of secrets (`.env`, `*.pem`, …).
allow = []
# Dotfiles that may be read besides the built-in ones (`.gitignore`, `.github/**`, …).
dotfiles = []

# Command lines in arguments, by their words: "git push", "rm -r", "docker *".
# Try one with `rightcall policy command 'git push --force'`. More: `rightcall docs command-lines`.
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
# These are never reached.
deny = []
# These ask a person.
ask = []
# The starter list does not ask about these.
allow = []
# Ask before the addresses where a cloud hands out credentials.
starter = true

# ── Callers: exceptions for one caller ───────────────────────────────────────────────────────────────────────

#[callers.teacher]
# Its stage, instead of the one in [policy].
#stage = "sandbox"
# Tools allowed besides those of [policy].
#allow = ["file/save"]
# Tools denied besides those of [policy].
#deny = ["code/blame"]
# As in [policy], for this caller.
#write = "ask"
# As in [policy], for this caller.
#execute = "allow"
# As in [policy], for this caller.
#network = "deny"
# As in [policy], for this caller.
#records = "all"
# Rooms shared with other callers, in every context (pack "room").
#rooms = ["debug"]
# Its calls per minute, per hour and, as `burst`, per second.
#limits = { minute = 20, hour = 500 }
# Its calls in a day, as in [policy.limits].
#calls_per_day = 500
# Tokens that models use for it in a day, as in [policy.limits].
#tokens_per_day = 2_000_000
# What one call of it may cost: the keys of [policy.budgets].
#budgets = { seconds = 60 }

#[callers.guest]
# The only tools it may use. Replaces stage and `allow`.
#only = ["ping", "code/read"]

# ── MCP servers of the gateway (`rightcall serve`), and the effects of their tools ───────────────────────────

#[servers.git]
# The program that is started, with its arguments.
#command = ["mcp-server-git", "--repository", "."]
# Environment variables of the program.
#env = { GIT_PAGER = "cat" }
# Its folder, counted from the folder of this file.
#cwd = "."
# What its tools do: "read", "write", "execute", "network". A tool that is not named here counts as doing all of it.
#effects = { "git_log" = ["read"], "git_status" = ["read"], "git_diff*" = ["read"] }
# Tools that are offered. The server's names, or patterns with `*`.
#allow = ["*"]
# Tools that are hidden. The server's names, or patterns with `*`.
#deny = ["git_reset"]
# Tools that always need approval. The server's names, or patterns with `*`.
#ask = ["git_commit"]
# Prefix of its tools in the gateway (default: the server's name; "": none).
#prefix = "git"
# Seconds for one call.
#timeout = 60
# false: the server is not used.
#enabled = true

#[servers.search]
# The address of a server that is reached by HTTP.
#url = "http://127.0.0.1:8000/mcp"
# HTTP headers of each request to it.
#headers = { x-team = "tools" }

#[servers.notes]
# The address of a server that wants a login: `rightcall login notes`. The keys below are rarely needed.
#url = "https://notes.example.org/mcp"
# Who logs in: "person", or "machine" with client_id and one of client_secret_env and private_key.
#login = "person"
# Its client id at the provider, or the https address of a document about it. Not set: it registers itself.
#client_id = "rightcall"
# The environment variable with the client's secret.
#client_secret_env = "NOTES_CLIENT_SECRET"
# A PEM file that the client signs with, counted from the folder of this file.
#private_key = "notes-key.pem"
# The provider of the logins (default: the one that the server names at the first login).
#issuer = "https://login.example.org"
# What to ask for (default: what the server names).
#scopes = ["notes:read"]
# The port of this machine that the browser comes back to. 0: any.
#redirect_port = 0
# true: each caller uses a login of its own (`rightcall login notes --as CALLER`).
#per_caller = false

#[servers.reports]
# The address of a server where this machine logs in by itself, with a token of its platform.
#url = "https://reports.example.org/mcp"
# Who logs in: this machine.
#login = "machine"
# The provider that the token is for: a server on another host cannot name it.
#issuer = "https://login.example.org"
# Its client id at the provider.
#client_id = "nightly-build"
# A file with a token that says who this machine works for. Read anew for each login.
#assertion_file = "/var/run/secrets/token"
# Where that token is first exchanged for one to the server's provider. Not set: it is one already.
#exchange_url = "https://login.example.org/token"
# The client id for that exchange.
#exchange_client_id = "nightly-build"

#[servers.tracker]
# The address of a server whose token you have.
#url = "https://tracker.example.org/mcp"
# The environment variable with the token.
#token_env = "TRACKER_TOKEN"

#[servers.mail]
# The address of a server whose token a program prints.
#url = "https://mail.example.org/mcp"
# The program, with its arguments.
#token_command = ["pass", "show", "mail"]

# ── Router: which tool a request needs ───────────────────────────────────────────────────────────────────────

[router]
# false: no request is given a tool.
enabled = true
# How the need for a tool is found: "learned", or by the design's heuristics, "keywords" and "regex".
mode = "learned"
# A chosen tool runs from this confidence on.
threshold = 0.7
# Below the threshold: "ask" asks the user, "skip" answers without the tool.
below = "ask"
# Further rounds of a request with a tool's result.
reinjections = 3
# Tools shown to the selecting model.
candidates = 10
# The temperature when a tool is selected.
selection_temperature = 0.15
# The longest answer when a tool is selected, in tokens.
selection_tokens = 500
# The temperature when a selection is reviewed.
review_temperature = 0.3
# The longest answer when a selection is reviewed, in tokens.
review_tokens = 200
# The temperature of the answer to the user. Not set: the server decides.
#answer_temperature = 0.7
# The longest answer to the user, in tokens.
answer_tokens = 1000
# The `top_p` of every request to a model.
top_p = 0.9
# Seconds for a whole request.
seconds = 60
# Seconds for one model call.
model_seconds = 30
# Tokens of all prompts and answers of a request.
tokens = 20_000
# When the MCP gateway would list more tools than this, it lists two to find and run them instead; 0: never.
search = 0

# The model that selects, behind any OpenAI-compatible endpoint. Either of the two does for both.
#[router.light]
# The base URL of its server.
#url = "http://127.0.0.1:8080/v1"
# The model's name on the server. Not set: the model that it serves.
#model = "small"
# The model that reviews and answers.
#[router.prime]
# The base URL of its server.
#url = "https://models.example.com/v1"
# The model's name on the server. Not set: the model that it serves.
#model = "large"
# The environment variable that has the key.
#key_env = "MODEL_KEY"
# HTTP headers of each request to it.
#headers = { x-team = "tools" }
# false: for a server without JSON schemas.
#schema = true

# ── Sandbox: limits of model-written code ────────────────────────────────────────────────────────────────────

[sandbox]
# Longest run of a program, in seconds.
seconds = 4
# Megabytes of memory, for all its processes together.
memory = 512
# Megabytes of files that it may write.
scratch = 128
# Processes at a time.
processes = 64
# Bytes that it may print.
output = 1_000_000
# The weakest isolation accepted: "landlock", or "namespaces", which is stronger. Without it nothing runs;
# `rightcall sandbox doctor` shows what this machine has.
tier = "landlock"
# The whole path of Python; empty: the Python that rightcall runs on.
python = ""
# The whole path of Node.js; empty: `node` on the PATH.
node = ""
# Folders that can be read inside, besides the system's programs.
visible = []

# ── Writing: limits of the tools that write, whoever approves ────────────────────────────────────────────────

[write]
# Where `file/save` may save: below the root, or outside it where it begins with "/".
folders = ["experimental", "/tmp"]
# What counts as a test file, which is all that `code/create-test` creates.
tests = [
  "tests/**", "test/**", "spec/**", "**/tests/**", "**/test/**", "**/__tests__/**", "**/test_*.py", "**/*_test.py",
  "**/*_test.go", "**/*.test.*", "**/*.spec.*", "**/*Test.java", "**/*_spec.rb",
]
# Branches that only a reviewed merge changes.
protected = ["main", "master", "trunk", "develop", "production", "release/*", "releases/*"]
# Branches that nothing changes.
frozen = []
# Paths that no tool writes: mostly files that CI systems and git hooks run.
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

# What must succeed before a merge. It runs in the sandbox, where the merged files are.
[write.check]
# Program and arguments. Without a command nothing can be merged.
#command = ["python3", "-m", "pytest", "-q"]
# Longest run, in seconds.
seconds = 600
# Megabytes of memory, for all its processes together.
memory = 2048
# Processes at a time.
processes = 256
# Megabytes of files that it may write.
scratch = 1024

# ── Reading: what the code tools open, and which results are kept ────────────────────────────────────────────

[code]
# The largest file that `code/read` and `code/show` open, in bytes.
largest_file = 1_048_576
# true: every `code/read` brings the structure of the file, its imports, classes and functions. It costs tokens.
structure = false

[cache]
# Results are reused until the files they were read from change.
enabled = true
# Results that are kept.
entries = 100
# Bytes of all kept results.
bytes = 10_000_000
# The longest time a result is kept, in seconds.
seconds = 300

# ── Telemetry: spans and durations for OpenTelemetry, sent to where OTEL_* variables say ─────────────────────

[telemetry]
# true: on, false: off. Not set: on if an OTEL_* variable names an exporter or an endpoint.
#enabled = true

# ── The web: what `web/fetch` and `web/search` may reach. They are off: `allow` above has to name them ───────

[web]
# Seconds for one fetch, redirects included.
seconds = 20
# Bytes of one answer.
bytes = 2_000_000
# Redirects that are followed.
redirects = 5
# Ports that may be reached. 0: any.
ports = [80, 443]
# If not empty, only these are fetched, such as "docs.python.org" or "*.example.org".
sites = []
# Private address ranges that may be reached, such as "10.0.0.0/8".
networks = []
# A SearXNG-compatible server; without it `web/search` is unavailable.
search = ""

# ── The console in the browser, which `rightcall serve` starts ──────────────────────────────────────────────

[console]
# false: `rightcall serve` starts no console.
enabled = true
# The address it listens on.
host = "127.0.0.1"
# The port it listens on. 0: any free port.
port = 4142
# The address people use from elsewhere, such as "https://console.example.org".
public_url = ""
# The certificate (PEM file) for HTTPS, which an address other than this machine's own needs.
certificate = ""
# The key of the certificate (PEM file).
private_key = ""
# true: serve other addresses without TLS, behind your own proxy that has TLS.
plain_http = false

# ── Identity: tokens of an OpenID provider at proxy and gateway, and logins to the console ──────────────────

#[identity]
# The provider, letter by letter as its tokens name it.
#issuer = "https://login.example.org"
# What tokens for this gateway name as their audience: one text or a list.
#audience = "https://gateway.example.org/mcp"
# The provider's name on the login page. Not set: its host.
#name = "Example"
# Algorithms that a token may be signed with.
#algorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]
# Seconds by which the provider's clock may differ.
#leeway = 30
# Scopes that a token must have, and that clients are told to ask for.
#scopes = ["mcp"]
# The claim that lists the groups; with dots, one within another.
#groups = "groups"
# The address of `/mcp` that clients use, behind a balancer.
#resource = "https://gateway.example.org/mcp"
# The client of the console at the provider; its redirect URI is the console's address with /login/back.
#client_id = "rightcall-console"
# The environment variable with the secret of that client, where it has one.
#client_secret_env = "RIGHTCALL_CLIENT_SECRET"
# Scopes that the console asks for.
#login_scopes = ["openid", "profile", "email"]
# Seconds after which people log in again.
#session = 28_800

# Who is who. The first line that fits counts; whom none fits is refused.
#[identity.map]
# A group: its members call as one caller, whose stage may be said here.
#"group:platform" = { caller = "platform", stage = "limited-write" }
# What people may do in the console, and the claim that is their name there.
#"group:oncall" = { may = "approve", person = "{email}" }
# A claim, with `*` for anything; `NAME/{claim}` is a caller of its own for each value.
#"claim:email=*@example.org" = { caller = "staff/{email}", may = "look" }
# Everybody else with a valid token; without this line they are refused.
#"*" = { caller = "guest" }

# ── What is recorded ─────────────────────────────────────────────────────────────────────────────────────────

[audit]
# The database of audit, limits and approvals, counted from the folder of this file.
path = ".rightcall/audit.db"
# Names of arguments that are secret besides the built-in ones (`password`, `token`, `api_key`, …).
redact = []
# Remove records that are older than this by themselves, such as "400d" or "52w"; empty: keep all.
keep = ""

[store]
# A PostgreSQL server in place of that file, for many machines, such as "postgresql://rightcall@db.example/rightcall".
url = ""
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
    json_option(parser)


def run(options: Namespace) -> int:
    text = template(options.preset, options.stage)
    if options.print:
        tell(options, {"text": text}, lambda _: [text.removesuffix("\n")])
        return OK
    if not os.path.isdir(options.root):
        raise InputError("no such folder; pass an existing one as `--root`", source=options.root)
    file = os.path.join(options.root, POLICY_FILE)
    kept = _replace(file, text) if options.force and os.path.lexists(file) else _create(file, text)
    untrusted = _trust(file, text)
    record = {"file": file, "kept": kept, "preset": options.preset, "stage": options.stage, "trusted": not untrusted}
    tell(options, record, lambda _: [*_describe_next_steps(options, file, kept), *untrusted])
    return OK


def _trust(file: str, text: str) -> list[str]:
    """What we have written ourselves, whole, needs no question; what is wrong, if it cannot be kept."""
    from rightcall.policy.trust import give_to_own

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
        raise InputError("exists already; `--force` replaces it and keeps the old file as .bak", source=file) from None
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


# ── warm ──

HELP_WARM = """\
Speed up code/log and code/blame in a large repository. Writes a commit graph, with the changed paths of every
commit, into your own cache; the repository is not changed. Run it again now and then: newer commits are found as well,
only more slowly."""

EXAMPLES_WARM = """\
examples:
  rightcall warm
  rightcall warm --root ~/src/linux
  rightcall warm --json
"""

_LONGEST = 3600.0
"""Seconds. The largest histories take minutes."""


def arguments_warm(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])
    json_option(parser)


def run_warm(options: Namespace) -> int:
    from rightcall.base.files.sight import Sight
    from rightcall.tools.git.repository import NoRepository, repository_for
    from rightcall.tools.git.run import write_graph

    if not os.path.isdir(options.root):
        raise ConfigError(f"`--root`: {escaped(options.root, 200)} is not a folder")
    try:
        repository = repository_for(Sight(options.root))
    except NoRepository as none:
        raise ConfigError(none.why) from none
    doing = Doing()
    with waiting(doing.line):
        report = write_graph(repository, _LONGEST, doing.at)
    tell(options, _record(report), lambda style: _lines(report, style))
    return OK


def _record(report: "GraphReport") -> dict[str, Any]:
    return {
        "commits": report.commits,
        "seconds": round(report.seconds, 3),
        "bytes": report.bytes,
        "path": report.path or None,
    }


def _lines(report: "GraphReport", style: Style) -> list[str]:
    if not report.commits:
        return wrap(
            "Nothing to make faster: the history is empty, or shallow (git makes no graph of those).", style.width
        )
    size = f"{report.bytes / 1e6:,.1f} MB" if report.bytes >= 1e6 else f"{report.bytes / 1e3:,.1f} kB"
    done = f"{many(report.commits, 'commit')} in {report.seconds:.1f} s, {size}"
    return [
        style.tint("✓ the history is warm", "green", "bold") + f": {done}",
        f"  written to {escaped(report.path)}",
        "  code/log and code/blame use it from now on; the repository is unchanged",
    ]


class Doing:
    """What is being done, in the words of whoever does it."""

    def __init__(self) -> None:
        self._doing = "looking"

    def at(self, doing: str) -> None:
        self._doing = doing

    def line(self, seconds: float) -> str:
        return f"{self._doing} … {seconds:.0f} s"
