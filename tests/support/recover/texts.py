"""Strings that arguments hold: quotes, backslashes, code, markup, other alphabets, and what looks like another type."""

from hypothesis import strategies as st

PIECES = (
    "Zürich", " ", "\n", "\\", '"', "'", "`", "{", "}", "[", "]", "(", ")", "<", ">", "&", ",", ":", ";", "=", "|", "/",
    "\t", "ñ", "雪", "🙂", "é", "\u2028", "\u00a0", "a", "0", "\\n", '\\"', "--", "#", "$", "%s", "&amp;", "\r\n",
)  # fmt: skip

WHOLE = (
    "Bern", "", " padded ", "two\nlines", "\nbetween newlines\n", "\n", "\nleading", "trailing\n", "  indented:\n\ttab",
    "12", "-0.5", "true", "None", '{"a": 1}', "[1, 2]", '"quoted"', "'single'", "{}", "[]", "1,2", "k: v",
    'if a < b and c > d:\n    print("x", \'y\')\n', "def f(x={}):\n    return [x]  # {not closed\n",
    "a\\b\\\\c\\", "C:\\new",
    '<div class="a">text</div>', "<b>&lt;</b> <br/>", "x </a> y", "<parameter>", "<|tokens|>", "</tool_call>",
    '<tool_call>{"name": "x", "arguments": {}}</tool_call>', "[TOOL_CALLS]", "```json\n{}\n```", "```", "Action: x",
    '{"name": "x", "arguments": {}}', "</think>", "]]>", "); x(", "')]", '"}}', "}}]", "x=1, y='2'", "$(rm -rf /)",
    "SELECT \"a\" FROM 't' WHERE x <> ''", "naïve café 🇨🇭 ☃", "日本語のテキスト", "שלום", "e\u0301", "\ufeffbom",
    "https://example.com/a?b=c&d=%20#e", "*bold* _it_ ~~no~~", "^[a-z]{2,3}\\d+$", "50 %", "5 > 3", "a;b",
)  # fmt: skip

texts = st.one_of(
    st.sampled_from(WHOLE),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=8),
)
