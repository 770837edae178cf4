"""No secret of the listed set comes into a record, what is none stays readable, and redacting never fails."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base import scan, secrets
from rightcall.base.scan import SHAPES, Walk, without_secrets
from rightcall.base.secrets import COMMANDS, Redactor
from support import secret_samples as samples
from support.every import every
from support.pace import process_time
from support.writers import WRITERS, Writer

KEY = b"k" * 32
hide = Redactor(KEY)
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "audit.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.promise("A-02")


def masked(value: Any) -> Any:
    """With the digests taken away, to compare."""
    if isinstance(value, str):
        return re.sub(r"\[redacted [0-9a-f]{12}\]", "•", value)
    if isinstance(value, dict):
        return {masked(key): masked(item) for key, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list) else value


@every(
    "name",
    [
        *secrets.WHOLE, *secrets.ENDINGS, "Password", "PASSWD", "userPassword", "db.password", "new-password",
        "x-api-key", "X_API_KEY", "openaiApiKey", "APIKEY", "client_secret", "AWS_SECRET_ACCESS_KEY", "github_token",
        "accessToken", "refresh-token", "id_token", "X-Auth-Token", "csrf_token", "Proxy-Authorization", "set-cookie",
        "privateKey", "password2", "password_confirmation", "secret_key_base", "SecretString", "password_b64",
        "ｐａｓｓｗｏｒｄ", "pass\u200bword", "contraseña", "api key",
    ],
)  # fmt: skip
def test_a_value_is_hidden_when_its_name_says_that_it_is_secret(name: str) -> None:
    assert masked(hide.value({"a": "b", name: "hunter2"})) == {"a": "b", name: "•"}


@every(
    "name",
    [
        *secrets.PLAIN, "tokens", "max_tokens", "token_count", "author", "pinned", "secretary", "keyboard",
        "primary_key", "cookie_policy_url", "nextPageToken", "public_key", "key", "keys", "session_id", "authority",
        "password_file", "tokenizer", "token_type", "passenger", "compass", "gpio_pin", "secret_name", "monkey",
    ],
)  # fmt: skip
def test_a_name_that_only_looks_like_one_stays(name: str) -> None:
    arguments = {"a": "b", name: "hunter2"}
    assert hide.value(arguments) is arguments


@every("value", ["", "x", 1234, 0, -1.5, True, None, [1, "a"], {"user": "a", "word": "b"}, {}])
def test_below_a_secret_name_every_value_is_hidden_whole(value: Any) -> None:
    assert masked(hide.value({"deep": [{"credentials": value}]})) == {"deep": [{"credentials": "•"}]}


def test_a_yes_or_no_to_a_question_is_no_secret_but_anything_else_is() -> None:
    assert hide.value({"has_password": True, "requires_token": False}) == {
        "has_password": True,
        "requires_token": False,
    }
    assert masked(hide.value({"has_password": "hunter2", "password": True})) == {"has_password": "•", "password": "•"}


def test_the_same_secret_has_the_same_digest_everywhere_and_another_under_another_key() -> None:
    mark = hide.value({"password": "hunter2"})["password"]
    assert re.fullmatch(r"\[redacted [0-9a-f]{12}\]", mark)
    assert hide.text("--password hunter2") == f"--password {mark}"
    assert hide.value({"token": "hunter2"})["token"] == mark
    assert hide.value({"token": "hunter3"})["token"] != mark
    assert Redactor(b"j" * 32).value({"password": "hunter2"})["password"] != mark


def test_a_key_is_required() -> None:
    with pytest.raises(ValueError, match="key is empty"):
        Redactor(b"")


def test_names_of_the_policy_are_secret_too_in_any_spelling() -> None:
    own = Redactor(KEY, ["session_id", "page_token"])
    assert masked(own.value({"sessionId": 5, "page-token": "x", "id": 5})) == {
        "sessionId": "•",
        "page-token": "•",
        "id": 5,
    }
    assert masked(own.text("SESSION_ID=abc id=5")) == "SESSION_ID=• id=5"


def test_what_holds_no_secret_comes_back_as_the_very_same_object() -> None:
    for thing in (
        {"path": "src/a.py", "lines": [1, 2], "deep": {"a": ("x", None)}, "code": "a = b if c else {'d': 1}  # x -- y"},
        ["--force", "-p", "x"], "plain", "https://example.org:8080/a?b=c", 5, None, {1: 2}, b"bytes", {"a", "b"},
        "the-quick-brown-fox-jumps-over-the-lazy-dog", "0123456789abcdef0123456789abcdef01234567",
    ):  # fmt: skip
        assert hide.value(thing) is thing


TEXTS = [
    ("Authorization: Bearer abc.def\nHost: example.org", "Authorization: •\nHost: example.org"),
    ("Cookie: a=1; b=2\r\nAccept: */*", "Cookie: •\r\nAccept: */*"),
    ("curl -H 'Authorization: token abc' -H 'Accept: x'", "curl -H 'Authorization: •' -H 'Accept: x'"),
    ("curl -u ann:hunter2 https://example.org", "curl -u ann:• https://example.org"),
    ("mysql -u root -phunter2 shop", "mysql -u root -p• shop"),
    ("sshpass -p hunter2 ssh host", "sshpass -p • ssh host"),
    ("login --user ann --password hunter2 --verbose", "login --user ann --password • --verbose"),
    ("login --password='hunter 2' --verbose", "login --password='•' --verbose"),
    ("run --token=abc,def;ghi now", "run --token=• now"),
    ("login --password --verbose", "login --password --verbose"),
    ("java -storepass changeit -jar x", "java -storepass • -jar x"),
    ("export DB_PASSWORD=p;w)d\nexport A=b", "export DB_PASSWORD=•\nexport A=b"),
    ("API_KEY='a b' ./run", "API_KEY='•' ./run"),
    ("PWD=/home/ann TOKEN=$TOKEN KEY=1", "PWD=/home/ann TOKEN=$TOKEN KEY=1"),
    ('password = "hun\\"ter2" # note', 'password = "•" # note'),
    ("token: str = 'abc', count: int = 3", "token: str = '•', count: int = 3"),
    ("def f(token: str, secret: bytes) -> None: ...", "def f(token: str, secret: bytes) -> None: ..."),
    ('{"password": "hunter2", "pin": 1234, "n": 1}', '{"password": "•", "pin": •, "n": 1}'),
    ('"{\\"password\\": \\"hunter2\\", \\"n\\": 1}"', '"{\\"password\\": \\"•\\", \\"n\\": 1}"'),
    ('{"credentials": {"a": ["]", 1]}, "n": 1}', '{"credentials": •, "n": 1}'),
    ('["login", "--password", "hunter2", "-v"]', '["login", "--password", "•", "-v"]'),
    ("config['api_key'] = 'abc'; config['n'] = 1", "config['api_key'] = '•'; config['n'] = 1"),
    ("login(user='ann', password='hunter2', n=1)", "login(user='ann', password='•', n=1)"),
    ("user: ann\npassword: hunter2\nn: 1", "user: ann\npassword: •\nn: 1"),
    ("<password>hunter2</password><n>1</n>", "<password>•</password><n>1</n>"),
    ('<param name="password" value="hunter2" n="1"/>', '<param name="password" value="•" n="1"/>'),
    ("postgres://ann:hunter2@db:5432/shop", "postgres://ann:•@db:5432/shop"),
    ("https://ann@example.org https://x:y@z", "https://ann@example.org https://x:•@z"),
    ("https://" + samples.MIXED + "@example.org/a.git", "https://•@example.org/a.git"),
    ("https://example.org/?access_token=abc&n=1", "https://example.org/?access_token=•&n=1"),
    ("AccountName=a;AccountKey=abc/def+0==;EndpointSuffix=x", "AccountName=a;AccountKey=•;EndpointSuffix=x"),
    ("Server=a;User Id=b;Password=c d;n=1", "Server=a;User Id=b;Password=•;n=1"),
    ("Bearer of good news, basic information", "Bearer of good news, basic information"),
    ("max_tokens=5, tokens: 7, author: Ann", "max_tokens=5, tokens: 7, author: Ann"),
    ("x " + samples.PRIVATE_KEY + " y", "x • y"),
    (samples.PRIVATE_KEY[:70], "•"),
    ('{"key": "' + samples.PRIVATE_KEY.replace("\n", "\\n") + '"}', '{"key": "•"}'),
]  # fmt: skip


@every(("text", "shown"), TEXTS)
def test_secrets_in_a_text_are_hidden_and_the_rest_stays_readable(text: str, shown: str) -> None:
    once = hide.text(text)
    assert masked(once) == shown
    assert hide.text(once) == once
    assert hide.value({"command": text}) == {"command": once}


@every("name", samples.SHAPES)
def test_every_shape_is_found_alone_and_in_the_midst_of_a_text(name: str) -> None:
    for secret in samples.SHAPES[name]:
        end = secret[-20:]
        for text in (secret, f"use {secret}, please", f'"{secret}"', f"a/{secret}", f"\n{secret}\n"):
            shown = hide.text(text)
            assert end not in shown, text
            assert "[redacted " in shown
            assert hide.text(shown) == shown
        assert end not in str(hide.value({"note": secret, secret: 1}))


def test_every_shape_of_the_table_has_a_sample() -> None:
    assert set(samples.SHAPES) == {shape.name for shape in SHAPES}


def test_what_looks_like_a_shape_and_is_none_stays() -> None:
    for text in (
        "class sk-estimator-doc-link-fitted", "pip install pypi-some-package-with-a-long-name-here", "eyJ" + "a" * 30,
        "xai-research-group-homepage", "commit 0123456789abcdef0123456789abcdef01234567", "SKU-1234567890123456789",
    ):  # fmt: skip
        assert hide.text(text) is text


def test_an_aws_secret_is_known_by_the_access_key_beside_it() -> None:
    key, secret = samples.SHAPES["AWS access key"][0], "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
    assert masked(hide.text(f"{key} {secret}")) == "• •"
    assert masked(hide.value({"id": key, "other": secret})) == {"id": "•", "other": "•"}
    assert masked(hide.value([key, secret])) == ["•", "•"]
    assert hide.text(f"path {secret}") == f"path {secret}"


def test_pairs_of_a_name_and_a_value_are_seen_as_such() -> None:
    assert masked(hide.value({"name": "DB_PASSWORD", "value": "x"})) == {"name": "DB_PASSWORD", "value": "•"}
    assert hide.value({"name": "city", "value": "Bonn"}) == {"name": "city", "value": "Bonn"}
    assert masked(hide.value([["Authorization", "abc"], ["Accept", "x"]])) == [["Authorization", "•"], ["Accept", "x"]]
    assert masked(hide.value(["run", "--token", "abc", "-v"])) == ["run", "--token", "•", "-v"]


def test_a_repair_or_problem_of_a_secret_argument_tells_nothing_of_its_value() -> None:
    repair = {"path": "login.password", "before": "a", "after": "b", "rule": "type"}
    assert masked(hide.value(repair)) == repair | {"before": "•", "after": "•"}
    problem = {"code": "type", "path": "api_key", "message": "'abc' is no number"}
    assert masked(hide.value(problem)) == problem | {"message": "•"}
    plain = {"path": "docs/token/x.md", "message": "written"}
    assert hide.value(plain) is plain


def test_what_is_secret_in_the_arguments_is_hidden_where_it_is_repeated() -> None:
    arguments = {"password": 'hun"ter2', "pins": {"token": [98765]}, "user": "ann"}
    said = 'Logging in as ann with hun"ter2 (in JSON hun\\"ter2), code 98765.'
    assert masked(hide.beside(said, arguments)) == "Logging in as ann with • (in JSON •), code •."
    assert masked(hide.beside({"error": ["98765"]}, arguments)) == {"error": ["•"]}
    assert hide.beside(said, {"user": "ann"}) == said
    many = {"token": [f"secret {n}" for n in range(100)]}
    assert masked(hide.beside("anything", many)) == "•"
    assert masked(hide.beside({"path": "a", "before": 1}, many)) == {"path": "•", "before": "•"}


@every("writer", WRITERS.values(), ids=WRITERS.keys(), parts=2)
def test_a_secret_is_hidden_in_every_format_in_which_models_write_calls(writer: Writer) -> None:
    for secret in ("hunter2", "Tr0ub4dor&3", "correct horse", "p@ss,w;rd)", "it's", 'say "x"', "a\\b", "12345", "{x}"):
        for name in ("password", "api_key", "Authorization"):
            if not writer.cannot(secret):
                arguments = {"user": "ann", "nested": {name: secret}, name: secret, "after": "visible"}
                shown = hide.text(writer.write([("login", arguments)]))
                assert secret not in shown
                assert json.dumps(secret)[1:-1] not in shown
                assert "visible" in shown


SIZE = 1_000_000
CPU_SECONDS = 5
"""The limit of every test. Anything quadratic would take hours."""


def seconds_to_hide(text: str) -> float:
    began = process_time()
    assert hide.text(text)
    return process_time() - began


HOSTILE = [
    "a", "a ", "-eyJ", "-sk-", "://a:b", "password=", "password='", "password=\"\n", "password=\\'", "password:[\n",
    "a=", "1:", "--password ", "-----BEGIN RSA " + "PRIVATE KEY-----", "password</a><a>", "<password>", "password>",
    "Bearer ", "AKIA", "SG.-", "mysql ", "curl -u ", "M", "\\", "password=\\\\\\\"", "token: str = ", "cookie: \n",
    "password" + " " * 50, "password" + "\\" * 17, "[redacted ", "ключ: ", "é=", "\ud800=",
]  # fmt: skip


@every("piece", HOSTILE)
def test_a_hostile_megabyte_takes_linear_time(piece: str) -> None:
    assert seconds_to_hide((piece * (SIZE // len(piece) + 1))[:SIZE]) < CPU_SECONDS


@pytest.mark.parametrize("text", ["password" + " " * SIZE, "password=" + "\\" * SIZE, 'password="' + "a" * SIZE])
def test_one_long_gap_or_value_takes_linear_time(text: str) -> None:
    assert seconds_to_hide(text) < CPU_SECONDS


class Hostile(dict):
    def items(self) -> Any:
        raise RuntimeError("no")


def test_nothing_makes_it_raise() -> None:
    deep: Any = "hunter2"
    for _ in range(10_000):
        deep = {"a": [deep]}
    assert "hunter2" not in str(hide.value(deep))[:10_000]
    ring: Any = []
    ring += [ring, ring, {"password": "hunter2", "ring": ring}]
    assert "hunter2" not in repr(hide.value(ring))
    doubled: Any = ["x"]
    for _ in range(60):
        doubled = [doubled, doubled]
    assert hide.value(doubled) is doubled
    assert masked(hide.value(Hostile(a=1))) == "•"
    assert masked(hide.value({"password": object()})) == {"password": "•"}
    assert masked(hide.value({"password": "\ud800"})) == {"password": "•"}
    assert masked(hide.beside(Hostile(), {"password": "hunter2"})) == "•"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(["password", "a"]), inner),
    max_leaves=20,
)


@given(json_values)
def test_redacting_twice_changes_nothing_more(value: Any) -> None:
    once = hide.value(value)
    assert repr(hide.value(once)) == repr(once)


pieces = st.sampled_from(
    ["password", "token", "=", ":", " ", '"', "'", "\\", "--", "<", ">", "</", "[", "]", "{", "}", "\n", ",", "Bearer ",
     "://", "@", "x", "hunter", "str", "Cookie", "[redacted 0123456789ab]", "$A", "|", "-p", "mysql ", "sk-"]
)  # fmt: skip


@given(
    st.text(alphabet="abcXYZ0189!#%*+-./^_~", min_size=6),
    st.sampled_from(['{"password": "%s"}', "password=%s", "x --token %s y"]),
)
def test_no_secret_survives_where_its_name_stands(secret: str, template: str) -> None:
    if not secret.startswith("-") and not secret.startswith("//"):
        assert secret not in hide.text(template % secret)


def test_the_page_about_the_audit_lists_the_same_names_and_shapes_as_the_code() -> None:
    listed = {
        row[0]: set(re.findall(r"`([^`]+)`", row[1]))
        for row in re.findall(
            r"^\| (secret[^|]*|may follow|not secret|a yes or no[^|]*) \| ([^|]+) \|$", PAGE, re.MULTILINE
        )
    }
    assert listed == {
        "secret as a whole name": set(secrets.WHOLE),
        "secret at the end of a name": set(secrets.ENDINGS),
        "may follow": set(secrets.AFTER),
        "not secret": set(secrets.PLAIN),
        "a yes or no is shown when the name begins so": set(secrets.QUESTIONS),
    }
    shapes = PAGE.split("<!-- shapes -->")[1]
    assert re.findall(r"^\| ([^|`]+) \| `", shapes, re.MULTILINE) == [shape.name for shape in SHAPES]


def test_a_secret_deep_in_a_value_is_found_however_plain_the_rest_is() -> None:
    for inner in (
        {"password": "x"}, ["--token", "x"], ["Cookie", "x"], ["-password", "x", "y"], {"name": "pin", "value": "x"},
        ("a", {"token": 1}), {"a": {"b": [{"secret": None}]}}, ["a", "token=x"],
    ):  # fmt: skip
        value = {"path": "a", "list": [1, [2, {"deep": inner}]]}
        assert "•" in str(masked(json.loads(json.dumps(hide.value(value))))), inner
    many = {"rows": [{"n": number} for number in range(1000)], "last": {"password": "hunter2"}}
    assert masked(hide.value(many))["last"] == {"password": "•"}
    plain = {"rows": [{"n": number} for number in range(1000)]}
    assert hide.value(plain) is plain


words = st.sampled_from(
    [*samples.SHAPES["Slack token"], "xoxb-1234567890", "Basic YWRtaW46YWRtaW4=", "token", "name", "value"]
)
quiet_looking = st.lists(pieces | words | st.text(max_size=6), max_size=5).map("".join)
nested = st.recursive(
    quiet_looking | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(quiet_looking | words, inner, max_size=3),
    max_leaves=8,
)


@given(nested)
def test_the_fast_way_overlooks_nothing_that_the_slow_way_finds(value: Any) -> None:
    assert repr(hide.value({"a": value})) == repr(Walk(hide, {}).clean({"a": value}))
    if isinstance(value, str):
        assert hide.text(value) == without_secrets(value, hide.is_secret, hide.mark)


@pytest.mark.promise("A-02")
def test_a_call_too_large_to_be_looked_through_is_hidden_at_once() -> None:
    """Whoever sends a million values must not hold up everybody else, and what nobody has looked at is not shown."""
    large = {"rows": [{"n": n, "password": f"hunter{n}"} for n in range(60_000)], "note": "hello"}
    began = process_time()
    shown = hide.beside(large, large)
    beside = hide.beside("the note is hunter59999", large)
    assert process_time() - began < 0.5
    assert list(shown) == ["rows", "note"]
    assert "hunter" not in str(shown) + beside


@pytest.mark.promise("A-02")
def test_of_a_very_long_text_only_the_beginning_is_recorded_and_no_half_of_a_secret() -> None:
    secret = "sk-" + "a1B2c3D4" * 6
    for before in range(15_980, 16_010):
        shown = hide.text("x " * (before // 2) + f" token: {secret} " + "y " * 60_000)
        assert shown.endswith(" characters)")
        assert len(shown) < 20_000
        assert secret[:12] not in shown


def test_a_line_with_options_is_looked_through_only_where_one_can_hold_a_secret() -> None:
    hide = Redactor(b"key", ["badge"])
    for line in ("ls -la src", "git log --oneline -n 5", "make -j 4 test"):
        assert hide.text(line) is line
    for line in ("deploy --token s3cret", "deploy --badge s3cret", "sshpass -p s3cret ssh me", "mysql -ps3cret shop"):
        assert "s3cret" not in hide.text(line), line
    assert set(COMMANDS) == set(scan._COMMANDS)  # the patterns behind them
