"""The special words of models and formats that are left where nothing is called: which there are, whole, begun or cut
off. The formats know theirs; the templates of models add some.

What other people write stays: `List<Tool>`, `<tool>hammer</tool>`, `<s>struck</s>`, `a <| b`.
"""

import re
from collections.abc import Iterable
from functools import cache

from rightcall.parse.late import Late
from rightcall.recover.formats.harmony import ENDS
from rightcall.recover.items.function_tags import PREFIXES
from rightcall.recover.items.key_pairs import KEYS
from rightcall.recover.registry import REASONING, scanner_for
from rightcall.recover.section import GLUE
from rightcall.recover.take import Format
from rightcall.recover.window import Literals, one_of

_OF_TEMPLATES = (
    "<bos>", "<eos>", "<pad>", "<unk>", "<mask>", "<escape>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>",
    "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[CALL_ID]", "[PREFIX]", "[SUFFIX]",
    "[MIDDLE]", "<tool_response>", "</tool_response>", "<tool_result>", "</tool_result>", "<tool_results>",
    "</tool_results>", "<tool_outputs>", "</tool_outputs>", "<function_results>", "</function_results>",
    "<function_response>", "</function_response>", "<start_function_response>", "<end_function_response>",
    "<start_function_declaration>", "<end_function_declaration>", "]<]minimax[>[",
)  # fmt: skip
_SPECIAL = re.compile(r"<[^<>=\n]{2,}|\[/?[A-Z_]{3,}\]|\]<\]")
"""What of the words of formats stands for itself: `Action:`, `>>>` and brackets are also just text."""

_AMBIGUOUS = frozenset(("</s>",))
_SHORTEST_CUT = 4

_SPACES = "|".join(re.escape(prefix) for prefix in PREFIXES if prefix)
_ELEMENT = r"(?:(?:tool|function)s?(?:_?calls?)?|invoke|param(?:eter)?|arg(?:ument)?)"
_INSIDE = r"[\w▁./:\-]"
_TALK = r"(?i:start|begin|end)"
_NAME = r"[\"']?[\w.\-]{0,160}[\"']?>?"
_FORMS = (
    rf"</?[|｜]\s?{_INSIDE}(?:{_INSIDE}|\s){{0,200}}[|｜]>",  # <|im_end|>, <|Start of Memory Helper Tool Call|>
    rf"<(?:{_SPACES})?(?:function|parameter)=[\w.\-]{{0,160}}>?",
    rf"<(?:{_SPACES})?invoke ?name={_NAME}",
    rf"</?(?:{_SPACES}){_ELEMENT}(?:[ =][^<>\n]{{0,160}})?>",
    rf"[<\[]/?{_TALK} of [A-Za-z ]{{0,60}}(?:Tool|Function) (?:Call|Use)[>\]]",
    r"<unused\d{1,4}>|<reserved_\w{1,40}>",
    r"<\|im_start\|>(?:(?:assistant|user|system|tool)\b\n?)?",
    r"<start_of_turn>(?:(?:model|user)\b\n?)?",
    r"<\|start_header_id\|>\w{0,12}<\|end_header_id\|>\n{0,2}",
)
_BEGINNINGS = re.compile(
    rf"</?(?:[|｜]\s?(?:{_INSIDE}(?:{_INSIDE}|\s){{0,200}}[|｜]?)?)?"
    r"|</?[｜|]?\w{0,50}(?:[｜|:]\w{0,50})?"
    rf"|<(?:{_SPACES})?(?:function|parameter)=[\w.\-]{{0,160}}"
    rf"|<(?:{_SPACES})?invoke ?(?:n|na|nam|name|name=[\"']?[\w.\-]{{0,160}}[\"']?)?"
    rf"|</?(?:{_SPACES}){_ELEMENT}(?:[ =][^<>\n]{{0,160}})?"
    r"|\[/?[A-Z_]{0,20}"
    rf"|[<\[]/?(?:[A-Za-z]{{1,5}}|{_TALK} o?|{_TALK} of(?: [A-Za-z ]{{0,80}})?)"
    r"|<\|im_start\|>[a-z]{0,9}|<start_of_turn>[a-z]{0,5}"
    r"|<\|start_header_id\|>\w{0,12}(?:<[\w|]{0,15}|<\|end_header_id\|>\n?)?"
)
"""What may become one of the forms."""

_CUT = re.compile(
    r"<[|｜](?:[\w▁./:\-]{1,80}[|｜]?)?"
    rf"|</?[<\[]?[|｜]?\s?{_TALK} of [A-Za-z ]{{0,80}}[|｜]?|\[/?{_TALK} of [A-Za-z ]{{0,80}}"
    rf"|<[|｜]\s?{_TALK}\b[\w▁ ]{{0,80}}[|｜]?"
    rf"|</?(?:{_SPACES}){_ELEMENT}(?:[ =][^<>\n]{{0,160}})?"
    rf"|<(?:function|parameter)=[\w.\-]{{0,160}}|<invoke ?name={_NAME}"
)
"""What remains of one of the forms when an answer ends in it."""

OPERATOR = Late(r"<[|｜](?=>|[ \t])")
"""`a <| b` and `a <|> b` in some languages."""


class Markers:
    """The words of all formats of a gate, and the forms."""

    def __init__(self, formats: tuple[Format, ...]) -> None:
        words = set(_words(formats))
        self._words = Literals(words)
        self._cuts = frozenset(word[:n] for word in words for n in range(_SHORTEST_CUT, len(word)))
        self._whole = re.compile("|".join((*reversed(_FORMS), one_of(words))))

    def end(self, text: str, at: int) -> int:
        """The end of the marker that begins here, or -1."""
        found = [one.end() for one in (self._whole.match(text, at), self._words.pattern.match(text, at)) if one]
        return max(found, default=-1)

    def begins(self, text: str, at: int) -> bool:
        """Whether what stands from here to the end may be a part of a marker that goes on."""
        rest = text[at : at + 300]
        return rest in self._words.prefixes or _BEGINNINGS.fullmatch(rest) is not None

    def cut(self, text: str, at: int) -> bool:
        """Whether what stands from here to the end is a marker that was cut off."""
        rest = text[at:].rstrip() if len(text) - at <= 300 else ""
        return rest in self._cuts or _CUT.fullmatch(rest) is not None

    def harmless(self, code: str) -> str:
        """Code in a sentence, in which no marker stands for itself: its first character is an escape."""
        return self._whole.sub(lambda found: f"\\u{ord(found[0][0]):04x}{found[0][1:]}", code)


def _words(formats: tuple[Format, ...]) -> Iterable[str]:
    scanner = scanner_for(formats)
    own = (word for one in scanner.formats for word in (*one.opens, *one.closes))
    ends = (*scanner.markers.closes.words, *GLUE.words, *ENDS.words, "<|message|>", "<|constrain|>")
    pairs = (form for key in KEYS for word in (key, key.replace("key", "value")) for form in (word, f"</{word[1:]}"))
    for word in (*own, *ends, *REASONING, *REASONING.values(), *pairs, *_OF_TEMPLATES):
        if _SPECIAL.match(word) and word not in _AMBIGUOUS and not word.endswith((" ", "=", "name=")):
            yield word


@cache
def markers_of(formats: tuple[Format, ...] = ()) -> Markers:
    return Markers(formats)
