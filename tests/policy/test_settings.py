"""`[policy]`, `[callers]` and `[audit]`: every key is read, every mistake is named, and what holds for one caller."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightcall.errors import PolicyError
from rightcall.policy.settings import (
    DEFAULT_POLICY,
    PRESETS,
    STAGES,
    Asking,
    Audit,
    Budgets,
    CallerSettings,
    Limits,
    Paths,
    Settings,
    Window,
)
from rightcall.policy.types import rights_of
from rightcall.policy.watch import load_policy
from support.every import every

WHOLE = """\
[policy]
preset = "swarm"
stage = "sandbox"
write = "ask"
rounds = 7
repeats = 4
quarantine = 6
allow = ["my/*", "ping"]
deny = ["code/blame"]

[policy.limits]
all = { minute = 90 }
caller = { hour = 150, burst = 2 }
[policy.limits.tools]
"code/read" = { hour = 40 }
"my/tool" = { minute = 1 }

[policy.approval]
# which tools
tools = ["my/*"]
# for how long
expires = 60
confidence = 1
definitions = false

[policy.budgets]
seconds = 2
tokens = 500
output = 1000
parallel = 2
[policy.budgets.tools."code/search"]
seconds = 10.5

[policy.paths]
deny = ["private/**"]
allow = ["docs/secrets.md"]
dotfiles = [".tool-versions"]

[callers.teacher]
stage = "full"
allow = ["my_tool"]
deny = ["screenshot"]
limits = { minute = 20 }
execute = "dry-run"
budgets = { tokens = 900 }
[callers.guest]
only = ["ping", "code/*"]

[audit]
path = "logs/audit.db"
redact = ["pin"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "rightcall.toml"
    file.write_text(WHOLE, encoding="utf-8")
    return file


@pytest.mark.promise("P-09")
def test_every_key_is_read(file: Path) -> None:
    budgets = Budgets(seconds=2.0, tokens=500, output=1000, parallel=2)
    assert load_policy(file).settings == Settings(
        preset="swarm",
        stage="sandbox",
        write="ask",
        rounds=7,
        repeats=4,
        quarantine=6,
        allow=("my/*", "ping"),
        deny=("code/blame",),
        limits=Limits(
            all=Window(90, 2000),
            caller=Window(10, 150, 2),
            tools={
                "code/read": Window(5, 40),
                "code/search": Window(3),
                "code/execute/python": Window(2),
                "my/tool": Window(1),
            },
        ),
        approval=Asking(("my/*",), 60, 1.0, definitions=False),
        budgets=budgets,
        budgets_of_tools={"code/search": replace(budgets, seconds=10.5)},
        paths=Paths(("private/**",), ("docs/secrets.md",), (".tool-versions",)),
        callers={
            "teacher": CallerSettings(
                stage="full",
                allow=("my_tool",),
                deny=("screenshot",),
                limits=Window(20, 150, 2),
                execute="dry-run",
                budgets=replace(budgets, tokens=900),
            ),
            "guest": CallerSettings(only=("ping", "code/*")),
        },
        audit=Audit("logs/audit.db", ("pin",)),
    )


@pytest.mark.promise("P-09")
def test_tables_that_say_nothing_are_the_defaults() -> None:
    empty: dict[str, Any] = {"limits": {"all": {}, "tools": {}}, "approval": {}, "budgets": {"tools": {}}, "paths": {}}
    assert load_policy({"policy": empty, "callers": {}, "audit": {}}).settings == DEFAULT_POLICY.settings == Settings()


@pytest.mark.promise("P-02")
@pytest.mark.parametrize("preset", ["personal", "swarm"])
def test_a_preset_sets_every_limit_and_a_table_changes_only_what_it_names(preset: str) -> None:
    limits = load_policy({"policy": {"preset": preset}}).settings.limits
    assert limits == PRESETS[preset]  # pyright: ignore[reportArgumentType]
    changed = load_policy({"policy": {"preset": preset, "limits": {"all": {"hour": 0}}}}).settings.limits
    assert changed == replace(limits, all=replace(limits.all, hour=0))


@pytest.mark.promise("P-02")
def test_personal_is_ten_times_swarm_which_has_the_designs_numbers() -> None:
    swarm, personal = PRESETS["swarm"], PRESETS["personal"]
    assert (swarm.all, swarm.caller) == (Window(100, 2000), Window(10, 200, 3))
    assert swarm.tools == {"code/read": Window(5), "code/search": Window(3), "code/execute/python": Window(2)}

    def ten_times(window: Window) -> Window:
        return Window(window.minute * 10, window.hour * 10, window.burst * 10)

    assert (personal.all, personal.caller) == (ten_times(swarm.all), ten_times(swarm.caller))
    assert personal.tools == {tool: ten_times(window) for tool, window in swarm.tools.items()}


@pytest.mark.promise("P-01")
def test_each_stage_contains_the_one_before_and_has_the_designs_tools() -> None:
    read_only, sandbox, limited, full = STAGES.values()
    assert list(STAGES) == ["read-only", "sandbox", "limited-write", "full"]
    assert read_only < sandbox < limited < full
    assert read_only == {
        "code/read", "code/search", "code/list", "code/diff", "code/log", "code/blame", "code/show", "data/list",
        "data/read", "ping", "debug/logs", "ai/report", "system/monitor", "analytics/tool-usage",
    }  # fmt: skip
    assert sandbox - read_only == {"code/execute/python", "code/execute/javascript", "screenshot"}
    assert limited - sandbox == {"file/save", "code/create-branch", "code/create-test"}


WRONG = [
    ('preset = "swarm"', 'preset = "swarms"', 2, "policy.preset: 'swarms' is not a valid choice; did you mean 'swarm'"),
    ('preset = "swarm"', 'presets = "swarm"', 2, "policy.presets: unknown key; did you mean 'preset'?"),
    ('stage = "sandbox"', 'stage = "write"', 3, "policy.stage: 'write' is not a valid choice"),
    ('stage = "sandbox"', 'stage = ["sandbox"]', 3, "must be one of read-only, sandbox, limited-write, full"),
    ('write = "ask"', 'write = "dry_run"', 4, "policy.write: 'dry_run' is not a valid choice; did you mean 'dry-run'?"),
    ('write = "ask"', "write = true", 4, "policy.write: must be one of"),
    ('write = "ask"', "dry_run = false", 4, 'write `write = "ask" (or "allow")` and `execute = "ask" (or "allow")`'),
    ('write = "ask"', "dry_run = true", 4, 'write `write = "dry-run"` and `execute = "dry-run"` instead'),
    ('write = "ask"', 'tools."x?".write = "ask"', 4, '"x?" can match nothing'),
    ('write = "ask"', 'tools.x.writes = "ask"', 4, "policy.tools.x.writes: unknown key; did you mean 'write'?"),
    ('execute = "dry-run"', "dry_run = true", 44, 'teacher.dry_run: is no longer a key: write `write = "dry-run"`'),
    ("rounds = 7", "rounds = 0", 5, "policy.rounds: must be a whole number from 1 to 100, not 0"),
    ("rounds = 7", "rounds = 5.5", 5, "policy.rounds: must be a whole number from 1 to 100, not 5.5"),
    ("rounds = 7", "rounds = true", 5, "policy.rounds: must be a whole number"),
    ("repeats = 4", "repeats = 1", 6, "policy.repeats: 1 would refuse every call; must be 0 for none, or a whole"),
    ("repeats = 4", "repeats = -1", 6, "policy.repeats: must be a whole number from 0 to 1000, not -1"),
    ("quarantine = 6", "quarantine = 1", 7, "policy.quarantine: 1 would leave a call that is refused once no second"),
    ("quarantine = 6", "quarantine = 1001", 7, "policy.quarantine: must be a whole number from 0 to 1000"),
    ("quarantine = 6", f"quarantine = 0x{'f' * 5000}", 7, "not a number of about 6000 digits"),
    ("quarantine = 6", f"quarantine = {'9' * 5000}", 0, "not valid TOML: Exceeds the limit"),
    ('allow = ["my/*", "ping"]', 'allow = "my/*"', 8, "policy.allow: must be a list of texts, not a text"),
    ('allow = ["my/*", "ping"]', 'allow = ["my/*", 3]', 8, "policy.allow[1]: must be a text, not a number"),
    ('allow = ["my/*", "ping"]', 'allow = [""]', 8, "policy.allow[0]: must be a name, not an empty text"),
    ('deny = ["code/blame"]', 'deny = ["  "]', 9, "policy.deny[0]: must be a name, not an empty text"),
    ('deny = ["code/blame"]', 'deny = [" code/blame"]', 9, 'policy.deny[0]: " code/blame" can match nothing'),
    ('deny = ["code/blame"]', 'deny = ["code/bl\\u200Bame"]', 9, '"code/bl\\u200bame" can match nothing'),
    ("all = { minute = 90 }", "everybody = { minute = 90 }", 12, "policy.limits.everybody: unknown key; expected one of:"),  # noqa: E501
    ("all = { minute = 90 }", "all = { minutes = 90 }", 12, "policy.limits.all.minutes: unknown key; did you mean"),
    ("all = { minute = 90 }", "all = 90", 12, "policy.limits.all: must be a table, not a number"),
    ("all = { minute = 90 }", "all = { minute = -1 }", 12, "must be a whole number from 0 to 1000000, not -1"),
    ("burst = 2", 'burst = "2"', 13, "policy.limits.caller.burst: must be a whole number from 0 to 1000000"),
    ('"code/read" = { hour = 40 }', '"code/*" = { hour = 40 }', 15, '"code/*": `*` has no meaning here; write one'),
    ('"code/read" = { hour = 40 }', '"" = { hour = 40 }', 15, "must be a name, not an empty text"),
    ('"code/read" = { hour = 40 }', '"code/read" = 40', 15, 'limits.tools."code/read": must be a table, not a number'),
    ("# which tools", 'effects = ["write"]', 19, "`write`, `execute` and `network` of `[policy]` say it"),
    ('tools = ["my/*"]', "tools = [[]]", 20, "policy.approval.tools[0]: must be a text, not a list"),
    ("# for how long", 'never = ["file/save"]', 21, '`[policy.tools."NAME"]` with `write = "allow"`'),
    ("expires = 60", "expires = 0", 22, "policy.approval.expires: must be a whole number from 1 to 604800, not 0"),
    ("confidence = 1", "confidence = 1.1", 23, "policy.approval.confidence: must be a number from 0 to 1, not 1.1"),
    ("confidence = 1", "confidence = nan", 23, "policy.approval.confidence: must be a number from 0 to 1, not NaN"),
    ("confidence = 1", "confidence = true", 23, "policy.approval.confidence: must be a number from 0 to 1, not true"),
    ("definitions = false", "definitions = 0", 24, "policy.approval.definitions: must be true or false"),
    ("seconds = 2", "seconds = 0", 27, "policy.budgets.seconds: must be a number from 0.01 to 86400, not 0"),
    ("tokens = 500", "tokens = 49", 28, "policy.budgets.tokens: must be a whole number from 50 to 1000000, not 49"),
    ("output = 1000", "output = 0", 29, "policy.budgets.output: must be a whole number from 1 to 1000000000"),
    ("parallel = 2", "parallel = 0", 30, "policy.budgets.parallel: must be a whole number from 1 to 1000"),
    ("seconds = 10.5", "second = 10.5", 32, 'policy.budgets.tools."code/search".second: unknown key; did you mean'),
    ('deny = ["private/**"]', 'deny = ["/etc/**"]', 35, 'policy.paths.deny[0]: "/etc/**" can match nothing: a path'),
    ('deny = ["private/**"]', 'deny = ["$HOME/x"]', 35, 'policy.paths.deny[0]: "$HOME/x" can match nothing: a path'),
    ('deny = ["private/**"]', 'deny = ["${PWD}/x"]', 35, 'policy.paths.deny[0]: "${PWD}/x" can match nothing: a path'),
    ('deny = ["private/**"]', 'deny = ["../other"]', 35, '"../other" can match nothing'),
    ('deny = ["private/**"]', 'deny = ["./private"]', 35, '"./private" can match nothing'),
    ('deny = ["private/**"]', 'deny = ["private\\\\**"]', 35, "a path counts from the root, with `/`"),
    ('deny = ["private/**"]', 'deny = ["!public"]', 35, "`!` is not allowed here"),
    ('deny = ["private/**"]', 'deny = ["{a,b/**"]', 35, '"{a,b/**" can match nothing: a { is not closed; for the char'),
    ('deny = ["private/**"]', 'deny = ["a}/**"]', 35, "a } closes nothing; for the character itself write `[}]`"),
    ('deny = ["private/**"]', 'deny = ["[p/**"]', 35, "a [ is not closed; for the character itself write `[[]`"),
    ('deny = ["private/**"]', 'deny = ["[[:alpha:]]x"]', 35, "no names such as [:alpha:]; write its characters"),
    ('deny = ["private/**"]', 'deny = ["x[a[:digit:]]"]', 35, "no names such as [:alpha:]; write its characters"),
    ('deny = ["private/**"]', 'deny = ["{1..3}/x"]', 35, "braces hold no range such as {1..3}; write {1,2,3}"),
    ('deny = ["private/**"]', 'deny = ["@(a|b)/x"]', 35, "`@(a|b)` has no meaning here; write `{a,b}`"),
    ('deny = ["private/**"]', 'deny = ["**/!(a)"]', 35, "`@(a|b)` has no meaning here; write `{a,b}`"),
    ('deny = ["private/**"]', 'deny = ["{ a, b}/x"]', 35, "a blank in braces is part of a name; write `{a,b}`"),
    ('deny = ["private/**"]', 'deny = ["[z-a]"]', 35, "can match nothing: the range z-a runs backwards"),
    ('deny = ["private/**"]', 'deny = ["{,a}/**"]', 35, '"{,a}/**" can match nothing: a path counts from the root'),
    ('deny = ["private/**"]', 'deny = ["a/{b,..}/c"]', 35, '"a/{b,..}/c" can match nothing'),
    ('deny = ["private/**"]', f'deny = ["{"x" * 300}"]', 35, "no name has more than 255 characters"),
    ('deny = ["code/blame"]', 'deny = ["git_{reset,push}"]', 9, "`*` is the only wildcard in tool names; write each"),
    ('deny = ["code/blame"]', 'deny = ["git_[rp]*"]', 9, '"git_[rp]*" can match nothing'),
    ('tools = ["my/*"]', 'tools = ["git_rese?"]', 20, '"git_rese?" can match nothing'),
    ("dotfiles =", "dotfile =", 37, "policy.paths.dotfile: unknown key; did you mean 'dotfiles'?"),
    ("[callers.teacher]", '[callers." "]', 39, "must be a name, not an empty text"),
    ("[callers.teacher]", '[callers."*"]', 39, "`*` has no meaning here"),
    ('allow = ["my_tool"]', 'allowed = ["my_tool"]', 41, "callers.teacher.allowed: unknown key; did you mean 'allow'?"),
    ("limits = { minute = 20 }", "limits = { minute = 2000000 }", 43, "callers.teacher.limits.minute: must be a whole"),
    ("limits = { minute = 20 }", "limits = { caller = 2 }", 43, "callers.teacher.limits.caller: unknown key"),
    ("budgets = { tokens = 900 }", "budgets = { tokens = 9 }", 45, "callers.teacher.budgets.tokens: must be a whole"),
    ('only = ["ping", "code/*"]', 'only = ["ping"]\nallow = ["x"]', 47, "guest.only: cannot stand beside `allow`"),
    ('only = ["ping", "code/*"]', 'only = []\nstage = "full"', 47, "callers.guest.only: cannot stand beside `stage`"),
    ('path = "logs/audit.db"', 'path = ""', 50, "audit.path: must be the path of a file, such as"),
    ('path = "logs/audit.db"', 'path = "logs/"', 50, 'not "logs/"'),
    ('path = "logs/audit.db"', 'path = "a\\u0000b"', 50, 'not "a\\u0000b"'),
    ('redact = ["pin"]', 'redact = ["pin*"]', 51, "audit.redact[0]"),
    ("[audit]", "[audit]\nkept = 3", 50, "audit.kept: unknown key"),
    ("[audit]", "[audit]\nkeep = 3", 50, "audit.keep: must be a text"),
]  # fmt: skip


@every(("right", "wrong", "line", "says"), WRONG)
@pytest.mark.promise("P-09")
def test_a_mistake_is_named_with_its_line_and_what_would_be_right(
    file: Path, right: str, wrong: str, line: int, says: str
) -> None:
    assert right in WHOLE
    file.write_text(WHOLE.replace(right, wrong, 1), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert says in str(caught.value)
    assert caught.value.line == line
    assert caught.value.source == str(file)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["full", "*"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["minute", "tools", "only", "stage", "x", "", 3]), inner, max_size=2)
    ),
    max_leaves=4,
)
PLACES = [
    ("policy",), ("callers",), ("audit",), ("policy", "limits"), ("policy", "limits", "all"),
    ("policy", "limits", "tools"), ("policy", "limits", "tools", "x"), ("policy", "approval"),
    ("policy", "approval", "effects"), ("policy", "approval", "confidence"), ("policy", "budgets"),
    ("policy", "budgets", "tools"), ("policy", "paths", "deny"), ("policy", "stage"), ("policy", "deny"),
    ("policy", "repeats"), ("callers", "x"), ("callers", "x", "only"), ("callers", "x", "limits"), ("audit", "path"),
]  # fmt: skip


@given(st.sampled_from(PLACES), ANYTHING)
@pytest.mark.promise("P-09")
def test_whatever_stands_anywhere_is_read_or_is_a_policy_error(place: tuple[str, ...], value: Any) -> None:
    for key in reversed(place):
        value = {key: value}
    try:
        settings = load_policy(value).settings
    except PolicyError:
        return
    assert rights_of(settings, "x").caller == "x"


@pytest.mark.promise("P-09")
def test_a_digest_is_the_beginning_of_what_sha256sum_says(tmp_path: Path) -> None:
    from hashlib import sha256

    file = tmp_path / "rightcall.toml"
    file.write_text('[policy]\nstage = "full"\n# ü\n', encoding="utf-8")
    assert load_policy(file).digest == sha256(file.read_bytes()).hexdigest()[:16]
    file.write_bytes(b"")
    assert load_policy(file).digest == DEFAULT_POLICY.digest == sha256(b"").hexdigest()[:16]


def test_dicts_that_mean_the_same_have_one_digest() -> None:
    one = load_policy({"policy": {"stage": "full", "rounds": 3}, "gate": {"packs": ["code"]}})
    two = load_policy({"gate": {"packs": ("code",)}, "policy": {"rounds": 3, "stage": "full"}})
    other = load_policy({"policy": {"stage": "full", "rounds": 4}, "gate": {"packs": ["code"]}})
    assert one.digest == two.digest != other.digest
    assert len(one.digest) == 16


@pytest.mark.promise("P-09")
@every("policy", [{3: None}, {"policy": {3: None}}, {"callers": {None: {}}}, {"callers": {"x": {1: 2}}}])
def test_a_key_that_is_no_text_is_a_policy_error(policy: Any) -> None:
    with pytest.raises(PolicyError, match="must have texts for keys"):
        load_policy(policy)
