"""Damage to a right call. Faithful damage leaves what was meant beyond doubt; doubtful damage may be refused, but not
read otherwise; wild damage leaves anything."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Damaged(NamedTuple):
    emission: Any
    meant: tuple[Any, ...] | None
    """What may be accepted; None: anything that keeps the other rules. Empty: nothing, it must be refused."""
    doubtful: bool = True
    """Whether a refusal is an answer too."""


def outside(text: str, change: Callable[[str], str]) -> str:
    """`change` applied to what is not inside a string."""
    pieces: list[str] = []
    end = 0
    for match in STRING.finditer(text):
        pieces += [change(text[end : match.start()]), match.group()]
        end = match.end()
    return "".join(pieces) + change(text[end:])


def keys(text: str, change: Callable[[str], str]) -> str:
    """`change` applied to every key that is one word, without its quotes."""
    return re.sub(
        r'(?<=[{,] )"([A-Za-z_]\w*)"(?=: )|(?<=\{)"([A-Za-z_]\w*)"(?=: )',
        lambda match: change(match[1] or match[2]),
        text,
    )


def dumped(value: Any, random: Random) -> str:
    return json.dumps(value, ensure_ascii=random.random() < 0.5)


def spaced(text: str, random: Random) -> str:
    return outside(
        text, lambda piece: re.sub(r"([,:{}\[\]])", lambda m: m[1] + random.choice(("", " ", "\n\t")), piece)
    )


def comments(text: str, random: Random) -> str:
    note = random.choice(("/* a note */", "// a note\n"))
    return outside(text, lambda piece: piece.replace(", ", f", {note} ", 1))


def double_encoded(text: str, _: Random) -> str:
    return json.dumps(text)


def with_prose(text: str, random: Random) -> str:
    before = random.choice(("Sure! ", "Here are the arguments:\n", ""))
    return f"{before}\n```json\n{text}\n```\n" + random.choice(("", "Done."))


FAITHFUL_TEXT: dict[str, Callable[[str, Random], str]] = {
    "spacing": spaced,
    "a byte order mark": lambda text, _: "\ufeff" + text,
    "trailing commas": lambda text, _: outside(text, lambda piece: re.sub(r"(?<=[^\[{])([}\]])", r",\1", piece)),
    "comments": comments,
    "a fence and prose": with_prose,
    "a closing bracket too many": lambda text, random: text + random.choice("}]"),
    "encoded twice": double_encoded,
    "raw line breaks": lambda text, _: re.sub(r"(?<!\\)((?:\\\\)*)\\n", r"\1\n", text),
    "python literals": lambda text, _: outside(
        text, lambda piece: piece.replace("true", "True").replace("false", "False").replace("null", "None")
    ),
    "keys without quotes": lambda text, _: keys(text, lambda key: key),
    "keys in single quotes": lambda text, _: keys(text, lambda key: f"'{key}'"),
    "keys in smart quotes": lambda text, _: keys(text, lambda key: f"“{key}”"),
}

DOUBTFUL_TEXT: dict[str, Callable[[str, Random], str]] = {
    "closing brackets missing": lambda text, _: text.rstrip("}]"),
    "commas missing": lambda text, _: outside(text, lambda piece: piece.replace(", ", " ")),
    "a comma missing": lambda text, _: outside(text, lambda piece: piece.replace(", ", " ", 1)),
    "quotes not escaped": lambda text, _: re.sub(r"(\\\\)|\\\"", lambda match: match[1] or '"', text),
    "smart quotes": lambda text, _: STRING.sub(lambda match: f"“{match.group()[1:-1]}”", text),
    "single quotes": lambda text, _: STRING.sub(lambda match: f"'{match.group()[1:-1]}'", text),
}


def styled(name: str, random: Random) -> str:
    """The same words in another style: `file_path` as `filePath`, `File-Path`, `FILE_PATH`."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)
    styles = (
        "_".join(words).lower(),
        "_".join(words).upper(),
        "-".join(words).lower(),
        words[0].lower() + "".join(word.title() for word in words[1:]),
        "".join(word.title() for word in words),
    )
    return random.choice(styles)


def restyled(value: dict[str, Any], _: dict[str, Any], random: Random) -> dict[str, Any]:
    return {styled(name, random): inner for name, inner in value.items()}


def as_text(value: dict[str, Any], schema: dict[str, Any], random: Random) -> dict[str, Any]:
    """Numbers, truth values, lists and objects written as strings, where the schema says what they are."""
    kinds = {"integer", "number", "boolean", "array", "object"}

    def written(name: str, inner: Any) -> Any:
        declared = schema["properties"].get(name, {}).get("type")
        return json.dumps(inner) if declared in kinds and random.random() < 0.7 else inner

    return {name: written(name, inner) for name, inner in value.items()}


def shouted(value: dict[str, Any], schema: dict[str, Any], _: Random) -> dict[str, Any]:
    """Values of an enum in another case."""
    properties = schema["properties"]
    return {name: inner.upper() if "enum" in properties.get(name, {}) else inner for name, inner in value.items()}


def surplus(value: dict[str, Any], _: dict[str, Any], random: Random) -> dict[str, Any]:
    """An argument that no tool of ours has, and that resembles none."""
    return value | {"qqqqqqqqqqqqqqqqqqqqqqqq": random.choice((1, "w", [], None))}


FAITHFUL_VALUE: dict[str, Callable[[dict[str, Any], dict[str, Any], Random], dict[str, Any]]] = {
    "names in another style": restyled,
    "values as text": as_text,
    "enum values in another case": shouted,
    "an argument too many": surplus,
}


def scrambled(text: str, random: Random) -> str:
    """A few random edits anywhere, or no quotes anywhere."""
    if random.random() < 0.05:
        return STRING.sub(lambda match: match.group()[1:-1], text)
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(text))
        until = min(len(text), at + random.randint(0, 8))
        piece = random.choice(
            (
                "",
                text[at:until] * 2,
                *"\"'{}[](),:\\/`“”#-.0aeN \n\0",
                '"}',
                '",',
                "null",
                "\\u",
                "\ud800",
                "<a>",
                "```",
            )
        )
        text = text[:at] + piece + text[until:]
    return text


def noise(random: Random) -> str:
    alphabet = random.choice(
        ('{}[]",:', "{}[]()\"',:\\ \nab01-.eE", "".join(map(chr, range(0x250))), "“”‘’`<>|/*#=ab ")
    )
    return "".join(random.choice(alphabet) for _ in range(random.randint(0, 80)))


def cut(text: str, random: Random) -> tuple[str, bool]:
    """A prefix, and whether it ends inside a string, a number or a word."""
    at = random.randint(1, len(text) - 1)
    prefix = text[:at]
    inside_string = STRING.sub("", prefix).count('"') % 2 == 1
    inside_token = bool(re.search(r"[\w.+-]$", prefix)) and not re.search(r"(true|false|null)$", prefix)
    return prefix, inside_string or inside_token
