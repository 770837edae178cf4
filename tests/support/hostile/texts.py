"""Texts: nesting, size, repetition, numbers, odd characters. Each grows to the size asked for."""

from support.hostile.kinds import Expect, Kind

DEEP = 100_000
"""Levels of nesting, whatever the size asked for."""


def repeat(unit: str, size: int) -> str:
    return unit * max(1, size // len(unit))


def nest(name: str, opening: str, middle: str = "", closing: str = "", expect: Expect = "refused") -> Kind:
    return Kind(f"nest {name}", lambda _: opening * DEEP + middle + closing * DEEP, expect, grows=False)


def fill(name: str, unit: str, before: str = "", after: str = "", expect: Expect = "any") -> Kind:
    """`before`, then `unit` again and again, then `after`."""
    return Kind(name, lambda size: before + repeat(unit, size) + after, expect)


def once(name: str, text: str, expect: Expect = "any") -> Kind:
    return Kind(name, lambda _: text, expect, grows=False)


def encoded(levels: int) -> str:
    """JSON in a JSON string in a JSON string: each level doubles the backslashes."""
    text = '{"text": "x"}'
    for _ in range(levels):
        text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def numbered(size: int, form: str) -> str:
    """`form` with a counter in it, so that no two are alike."""
    return "".join(form.format(n) for n in range(max(1, size // (len(form) + 3))))


NESTING = [
    nest("open [", "["),
    nest("open {", '{"a":'),
    nest("open (", "("),
    nest("open mixed", '[{"a":('),
    nest("closed [", "[", "1", "]"),
    nest("closed {", '{"a":', "1", "}"),
    nest("closed (", "(", "1", ")"),
    nest("with text between", '[ "x", '),
    nest("with a comma after each", "[1,", "1", "]"),
    nest("keys without quotes", "{a:", "1", "}"),
    nest("keys in single quotes", "{'a':", "1", "}"),
    nest("python calls", "f(", "1", ")"),
    nest("python calls with names", "f(a=", "1", ")"),
    nest("named objects", "Point{x:", "1", "}"),
    nest("closing ] only", "]"),
    nest("closing } only", "}"),
    nest("mismatched", "[}"),
    nest("crossed", "[{", "1", "]}"),
    nest("tags", "<a>", "1", "</a>"),
    nest("comments", "/*", "", "*/"),
    nest("signs", "-", "1"),
    nest("not", "not ", "1"),
    Kind(
        "nest inside an argument", lambda _: '{"text": "x", "extra": ' + "[" * DEEP + "]" * DEEP + "}", "refused", False
    ),
    Kind(
        "nest inside a string that should be a list",
        lambda _: f'{{"text": "x", "tags": "{"[" * DEEP}"}}',
        "refused",
        False,
    ),
    Kind(
        "nest inside an object in a string", lambda _: '{"text": "x", "place": "' + "{" * DEEP + '"}', "refused", False
    ),
    Kind("nest encoded in strings", lambda _: encoded(14), grows=False),
]

REPETITION = [
    fill("a long string", "x", '{"text": "', '"}', "ok"),
    fill("a long string of letters beyond ASCII", "ö", '{"text": "', '"}', "ok"),
    fill("a long string that never ends", "x", '{"text": "', "", "refused"),
    fill("a long key", "k", '{"text": "x", "', '": 1}'),
    fill("a long key that never ends", "k", '{"', "", "refused"),
    fill("a long bare key", "k", "{text: x, ", ": 1}"),
    fill("a long array of numbers", "1,", '{"text": "x", "extra": [', "1]}"),
    fill("a long array of strings", '"a",', '{"text": "x", "tags": [', '"a"]}'),
    fill("an array of empty objects", "{},", '{"text": "x", "extra": [', "{}]}"),
    Kind("many keys", lambda size: '{"text": "x"' + numbered(size, ', "k{}": 1') + "}"),
    Kind("many bare keys", lambda size: "{text: x" + numbered(size, ", k{}: 1") + "}"),
    fill("blanks before", " ", "", '{"text": "x"}', "ok"),
    fill("blanks after", " ", '{"text": "x"}', "", "ok"),
    fill("blanks inside", " \t\n\r", '{"text":', '"x"}', "ok"),
    fill("blanks only", " ", expect="refused"),
    fill("line breaks only", "\n", expect="refused"),
    fill("blanks beyond ASCII", "\u00a0\u2003\u3000", "", '{"text": "x"}'),
    fill("one word", "word"),
    fill("prose", "It is what it is, and that's that. "),
    fill("prose before", "Sure, here it is. ", "", '{"text": "x"}'),
    fill("prose after", " I hope that helps!", '{"text": "x"}'),
    fill("double quotes", '"'),
    fill("single quotes", "'"),
    fill("backticks", "`"),
    fill("smart quotes", "“”"),
    fill("opening smart quotes", "“", '{"text": '),
    fill("alternating quotes", "'\""),
    fill("quotes in a value", '"a" ', '{"text": "he said ', '"}'),
    fill("quotes and commas in a value", '", "', '{"text": "', '"}'),
    fill("quotes and colons in a value", '": "', '{"text": "', '"}'),
    fill("what looks like more keys in a value", '", "a": "', '{"text": "', ""),
    fill("backslashes", "\\"),
    fill("backslashes in a value", "\\\\", '{"text": "', '"}', "ok"),
    fill("an odd number of backslashes in a value", "\\\\", '{"text": "\\', '"}', "refused"),
    fill("escaped quotes", '\\"', '{"text": "', '"}', "ok"),
    fill("escaped quotes outside", '\\"'),
    fill("everything escaped", '\\"text\\": \\"x\\", ', "{", "}"),
    fill("commas", ","),
    fill("commas in an object", ",", '{"text": "x"', "}"),
    fill("commas in an array", ",", '{"text": "x", "tags": ["a"', "]}"),
    fill("colons", ":"),
    fill("colons in an object", ":", '{"text"', '"x"}'),
    fill("an open string with commas", "a, ", '{"text": "', "", "refused"),
    fill("an open string with colons", "a: ", '{"text": "', "", "refused"),
    fill("an open string with brackets", "{[", '{"text": "', "", "refused"),
    fill("an open string with brackets closing", "}]", '{"text": "', ""),
    fill("open strings", '{"text": "x, '),
    fill("braces that open and close", "{}"),
    fill("brackets that open and close", "[]"),
    fill("openers and closers out of step", "}{]["),
    fill("comment openers", "/*"),
    fill("comment openers in an object", "/*", '{"text": "x", '),
    fill("slashes", "//"),
    fill("slashes inside", "//", '{"text": ', '\n"x"}'),
    fill("comments between", "/* a */", '{"text": ', '"x"}'),
    fill("line comments between", "// a\n", '{"text": ', '"x"}'),
    fill("hashes", "# a\n", "{", '"text": "x"}'),
    fill("html comments", "<!--"),
    fill("fences", "```json\n"),
    fill("fences opened and closed", "```\n```\n"),
    fill("fences around values", '```json\n{"text": "x"}\n```\n'),
    fill("tags", "<a>"),
    fill("tags with attributes", '<a b="c">'),
    fill("tags that never end", "<a "),
    fill("call tags", "<tool_call>"),
    fill("call tags around values", '<tool_call>{"text": "x"}</tool_call>'),
    fill("special tokens", "<|im_start|>"),
    fill("values without commas", "1 ", '{"text": "x", "extra": [', "]}"),
    fill("strings without commas", '"a" ', '{"text": "x", "tags": [', "]}"),
    fill("strings touching", '"a"', '{"text": "x", "tags": [', "]}"),
    fill("keys without colons", '"a" ', "{", "}"),
    fill("keys without values", '"a": ', "{", "}"),
    fill("bare words", "a: b, ", "{", "}", "refused"),
    fill("bare lines", "a: b\n"),
    fill("assignments", "a = 'b', "),
    fill("python arguments", "text='x', ", "note(", ")", "refused"),
    fill("strings added", '"a" + ', '{"text": ', '"a"}'),
    fill("values beside each other", '{"text": "x"}'),
    fill("JSON lines", '{"text": "x"}\n'),
    fill("JSON lines, each another", '{"text": "x"}\n{"text": "y"}\n', expect="refused"),
    fill("dots", "."),
    fill("ellipses in an array", "..., ", '{"text": "x", "extra": [', "]}"),
    fill("literals", "true false null "),
    fill("python literals", "True False None "),
    fill("duplicate keys", '"text": "x", ', "{", '"text": "y"}', "refused"),
    fill("duplicate keys deeper", '"city": "x", ', '{"text": "x", "place": {', '"city": "y"}}', "refused"),
    fill("duplicate keys in an unnamed place", '"a": 1, ', '{"text": "x", "extra": {', '"a": 2}}', "refused"),
    fill("duplicate bare keys", "text: x, ", "{", "text: y}", "refused"),
    fill("duplicate keys, one escaped", '"\\u0074ext": "x", ', "{", '"text": "y"}', "refused"),
    fill("duplicate keys in python", "'text': 'x', ", "{", "'text': 'y'}", "refused"),
    fill("raw line breaks in a string", "a\n", '{"text": "', '"}'),
    fill("control characters in a string", "\x01\x02\x1b[2K", '{"text": "', '"}'),
    fill("half escapes", "\\u12", '{"text": "', '"}'),
    fill("hex escapes", "\\x41", '{"text": "', '"}'),
    fill("octal escapes", "\\101", '{"text": "', '"}'),
    fill("named escapes", "\\N{BULLET}", '{"text": "', '"}'),
    fill("unknown escapes", "\\s\\d\\q", '{"text": "', '"}'),
    fill("line continuations", "\\\n", '{"text": "', '"}'),
    fill("a list written as a string", "'a', ", '{"text": "x", "tags": "[', "'a']\"}"),
    fill("a list written with commas", "a, ", '{"text": "x", "tags": "', 'a"}'),
    fill("an object written as a string", "'city': 'x', ", '{"text": "x", "place": "{', "'floor': 1}\"}", "refused"),
    fill("an enum value with blanks", " ", '{"text": "x", "level": "', 'high"}'),
]

NUMBERS = [
    fill("a number of many digits", "9", '{"text": "x", "count": ', "}", "refused"),
    fill("a fraction of many digits", "9", '{"text": "x", "ratio": 0.', "}"),
    fill("an exponent of many digits", "9", '{"text": "x", "ratio": 1e', "}", "refused"),
    fill("a negative exponent of many digits", "9", '{"text": "x", "ratio": 1e-', "}"),
    fill("many digits in a string", "9", '{"text": "x", "count": "', '"}', "refused"),
    fill("many zeros before", "0", '{"text": "x", "count": ', "1}"),
    fill("many zeros after", "0", '{"text": "x", "count": 1', "}", "refused"),
    fill("hexadecimal", "f", '{"text": "x", "count": 0x', "}", "refused"),
    fill("thousands", ",000", '{"text": "x", "count": "1', '"}', "refused"),
    fill("underscores", "_000", '{"text": "x", "count": 1', "}", "refused"),
    fill("number words", "million ", '{"text": "x", "count": "', '"}', "refused"),
    fill("minus signs", "-", '{"text": "x", "count": ', "1}", "refused"),
    fill("points", "1.", '{"text": "x", "ratio": ', "}", "refused"),
    fill("exponents", "1e", '{"text": "x", "ratio": ', "}", "refused"),
    once("10,000 digits", '{"text": "x", "count": ' + "7" * 10_000 + "}", "refused"),
    once("10,000 digits where anything may stand", '{"text": "x", "extra": ' + "7" * 10_000 + "}", "refused"),
    once("1e999", '{"text": "x", "ratio": 1e999}', "refused"),
    once("-1e999", '{"text": "x", "ratio": -1e999}', "refused"),
    once("1e999 where anything may stand", '{"text": "x", "extra": 1e999}', "refused"),
    once("1e999 in a string", '{"text": "x", "ratio": "1e999"}', "refused"),
    once("1e-999", '{"text": "x", "ratio": 1e-999}'),
    once("NaN", '{"text": "x", "ratio": NaN}', "refused"),
    once("nan in a string", '{"text": "x", "ratio": "nan"}', "refused"),
    once("Infinity", '{"text": "x", "ratio": Infinity}', "refused"),
    once("-Infinity", '{"text": "x", "ratio": -Infinity}', "refused"),
    once("NaN where anything may stand", '{"text": "x", "extra": [NaN]}', "refused"),
    once("infinity in a string", '{"text": "x", "ratio": "-inf"}', "refused"),
    once("NaN in python", "{'text': 'x', 'ratio': float('nan')}", "refused"),
    once("NaN alone", "NaN", "refused"),
    once("2 to the 64", '{"text": "x", "count": 18446744073709551616}'),
    once("minus zero", '{"text": "x", "count": -0}'),
    once("a power in python", '{"text": "x", "count": 9**9**9**9}', "refused"),
    once("a shift in python", "{'text': 'x', 'count': 1 << 1000000000}", "refused"),
    once("a repeated string in python", "{'text': 'x' * 1000000000}", "refused"),
]

CHARACTERS = [
    once("a lone surrogate, escaped", r'{"text": "\ud800"}'),
    once("a lone low surrogate, escaped", r'{"text": "\udc00 x"}'),
    once("a surrogate pair the wrong way round", r'{"text": "\udc00\ud800"}'),
    once("a lone surrogate, raw", '{"text": "\ud800"}'),
    once("a lone surrogate in a key", r'{"text": "x", "\ud800": 1}'),
    once("a lone surrogate, raw, in broken text", "{text: '\udfff'"),
    once("a surrogate alone", "\ud800", "refused"),
    fill("lone surrogates, escaped", r"\ud83d", '{"text": "', '"}'),
    fill("lone surrogates, raw", "\ud83d", '{"text": "', '"}'),
    once("half a pair at the end", r'{"text": "\ud83d'),
    once("NUL, escaped", r'{"text": "a\u0000b"}'),
    once("NUL, raw", '{"text": "a\0b"}'),
    fill("NUL only", "\0", expect="refused"),
    once("a byte order mark", '\ufeff{"text": "x"}', "ok"),
    fill("byte order marks", "\ufeff", "", '{"text": "x"}'),
    once("bidi overrides", '{"text": "\u202egnp.exe\u202c"}', "ok"),
    once("a bidi override in a key", '{"te\u202ext": "x"}'),
    fill("combining marks", "\u0301", '{"text": "a', '"}', "ok"),
    fill("combining marks in a key", "\u0301", '{"text": "x", "a', '": 1}'),
    once("a line separator", '{"text": "a\u2028b"}', "ok"),
    fill("line separators between", "\u2028\u2029\u0085", '{"text":', '"x"}'),
    fill("zero width spaces between", "\u200b\u200d\u2060", '{"text":', '"x"}'),
    once("full width punctuation", "｛＂ｔｅｘｔ＂：＂x＂｝"),
    fill("tag characters", "\U000e0041", '{"text": "', '"}', "ok"),
    once("not a character", '{"text": "\ufffe\uffff"}', "ok"),
    fill("families", "👨\u200d👩\u200d👧", '{"text": "', '"}', "ok"),
    once("a key in Cyrillic that looks like ours", '{"tехt": "x"}'),
    once("one key composed, one decomposed", '{"text": "x", "extra": {"\u00e9": 1, "e\u0301": 2}}', "ok"),
    once("letters that grow when folded", '{"text": "x", "level": "ﬀİßŉ"}', "refused"),
    fill("letters that grow when folded, many", "ŉ", '{"text": "x", "level": "', '"}', "refused"),
    fill("replacement characters", "\ufffd"),
    fill("every plane", "a\u00e9\u4e2d\U0001f600"),
    once("escape sequences for a terminal", '{"text": "\\u001b[2K\\u001b[1A"}', "ok"),
    once("empty", "", "refused"),
    once("reserved key, proto", '{"text": "x", "__proto__": {"admin": true}}'),
    once("reserved key, constructor", '{"text": "x", "constructor": {"prototype": {}}}'),
    once("reserved key deeper", '{"text": "x", "extra": {"__proto__": 1}}'),
    once("reserved key in broken text", "{text: 'x', __proto__: {a: 1}"),
    once("code", "__import__('os').system('true')", "refused"),
    once("code as a value", "{'text': __import__('os').getcwd()}"),
    once("a format string", "{'text': f'{open(0)}'}"),
    once("a lambda", "{'text': (lambda: 1)()}", "refused"),
    once("a comprehension", "{'text': [c for c in 'abc']}"),
    once("cut inside a string", '{"text": "hel', "refused"),
    once("cut inside a key", '{"text": "x", "cou', "refused"),
    once("cut inside a number", '{"text": "x", "count": 12', "refused"),
    once("cut inside an escape", '{"text": "a\\', "refused"),
    once("cut inside a literal", '{"text": "x", "urgent": tr', "refused"),
    once("cut after a colon", '{"text": ', "refused"),
]

TEXTS = [*NESTING, *REPETITION, *NUMBERS, *CHARACTERS]
