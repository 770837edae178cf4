"""RC1xx: names that models take for each other, or that they will not remember.

The words that mean the same, the opposites and the ways of slipping are those of the gate (`gate/repair`): what it
would have to repair is what a model gets wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Final
from unicodedata import normalize

from rightcall.base.letters import has_unseen, skeleton, suspicions
from rightcall.gate.repair.names import affix, core, says_nothing, suffix
from rightcall.gate.repair.words import is_word, joined, opposed, singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.explained import documented
from rightcall.lint.findings import Hit, bare, quote_name, word_set
from rightcall.lint.riddles import find_emptied, find_initials, find_marked, is_riddle
from rightcall.lint.senses import say_one_thing
from rightcall.lint.styles import KEY

_NOTHING: Final = word_set(
    "it this that tool function func fn do doit handler process action method main foo bar baz misc stuff helper util "
    "utility thing task operation op call command api wrapper generic default untitled unnamed temp "
    "test demo sample"
)
_KNOWN: Final = word_set(
    "id ids url uri urls sql css html xml json csv tsv pdf ssh http https dns ip tcp udp sha md md5 ts js db "
    "pr prs cc bcc ttl cwd jql cql gql svg png jpg gif mp mp3 mp4 llm cli rpc k8s s3 gb mb kb tb ms px pct "
    "pnr arch utc gmt tz rgb ssl tls vpc vm vms crm erp sms gps rss sku npm nft btc usd kv cdn dkim spf mx ns cname lc "
    "lng lcl hr hrs min mins sec secs src str ctx cmd args arg org repo env var vars dir dirs doc docs "
    "desc msg img num max min avg ref refs info config conf auth pid prev regex sdk qr nth xpath href mcp pyth wss "
    "ws proc ltv mrr gpt gcs gcp sns sqs ec2 rds cfn dbs ddl dml tx txs"
)
_SHORT_TEXT = """
    usr=user cust=customer qty=quantity amt=amount nm=name dt=date frm=from txt=text addr=address cfg=config
    mgr=manager acct=account acc=account txn=transaction inv=invoice dept=department emp=employee pwd=password
    passwd=password tel=phone cnt=count idx=index lvl=level grp=group prm=parameter flg=flag qry=query srch=search
    trm=term loc=location cty=city ctry=country lang=language fp=file_path fpath=file_path fn=file_name fname=file_name
    lname=last_name dob=date_of_birth ph=phone stat=status sts=status typ=type svc=service req=request
    resp=response hdr=header pkg=package ver=version upd=update del=delete calc=calculate temp=temperature
    wt=weight ht=height len=length sz=size clr=color bg=background btn=button tgt=target dst=destination
    res=results cd=code
    dest=destination lnum=line_number lno=line_number
    orig=origin prio=priority sched=schedule notif=notification attch=attachment subj=subject recip=recipient
    rcpt=recipient snd=send rcv=receive curr=currency prc=price pct=percent mth=month yr=year wk=week
    """
SHORT: Final = {short: long.replace("_", " ") for short, long in (pair.split("=") for pair in _SHORT_TEXT.split())}
"""Abbreviations, and the words that models write for them."""
_SURE: Final = word_set(
    "usr cust qty amt nm frm acct txn pwd cnt qry srch trm flg prm hdr subj rcpt recip attch sched clr sz cty "
    "ctry dob fname lname prc mth sts typ grp lvl emp dept svc tgt snd rcv txt dst fpath lnum lno"
)
"""Those that one alone is enough of."""
_TYPED: Final = {
    "cmd": "command", "msg": "message", "desc": "description", "num": "number", "img": "image", "doc": "document",
    "dir": "directory", "ref": "reference", "src": "source", "q": "query", "addr": "address", "expr": "expression",
}  # fmt: skip
"""Abbreviations that everybody knows, and that models write out all the same once a type is added to them."""
_POSTAL: Final = word_set("street town city postal zip house recipient customer delivery")
_HUNGARIAN: Final = re.compile(r"(?:str|int|bool|arr|obj|lst|sz|b|i|s|n|f|m)_?(?=[A-Z])[A-Za-z]{3,}")
_LETTERS: Final = {"q": "query", "p": "page", "u": "url", "f": "file", "d": "date"}
_FILES: Final = word_set("file files path folder directory document")
_EXPLAINED: Final = {
    "q": word_set("query search keyword keywords term terms text match pattern filter substring piece"),
    "qty": frozenset(("quantity", "number")),
    "expr": frozenset(("expression",)),
}
"""Short names that everybody knows, once the text has one of these words."""
_EMPTY: Final = re.compile(
    r"(?:arg|argument|param|parameter|var|variable|val|value|thing|info|data|field)_?\d+|"
    r"arg|foo|bar|baz|stuff|things?|whatever|xxx|misc"
)
"""Names that no description mends: a model writes the name of the value."""
_ANY_VALUE: Final = word_set("data value input info object obj item param content thing entity")
_IS_ID: Final = re.compile(
    r"\W*(?:unique )?(?:(?:ID|identifier|number|name) of (?:new |given |existing |unique )?([a-z]+)|"
    r"([a-z]+)(?:'s)? (?:ID|identifier)\b)",
    re.IGNORECASE,
)
"""Described as the ID of something: then it has a name. In a bare text."""
_PAIRED: Final = word_set("key field type name property attribute by kind column")
"""What a `value` stands beside."""
_COORDINATES: Final = word_set("x y z w h r g b a n i j k t p e v")
_VOWEL: Final = re.compile(r"[aeiouy]")
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

# ── one tool ──


def check(tool: ToolView) -> Iterator[Hit]:
    yield from _tool_name(tool)
    yield from _siblings(tool)
    for argument in tool.arguments:
        yield from _argument_name(argument, tool)


def _tool_name(tool: ToolView) -> Iterator[Hit]:
    name, place = tool.name, tool.at("name")
    if not name:
        yield Hit("RC102", "the tool has no name", "add a name: letters, digits and `_`", tool.at())
        return
    if has_unseen(name) or any(suspicions(name)):
        yield Hit(
            "RC118", f"{quote_name(name)} has look-alike or invisible letters", "write it in plain letters", place
        )
    elif not _CHARACTERS.fullmatch(name) and not tool.ruled:
        over = len(name) > 64
        why = (
            f"{len(name)} characters long; OpenAI and Gemini take 64"
            if over
            else "has characters that OpenAI and Anthropic refuse"
        )
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", _in_ascii(name)).strip("_")[:64]
        yield Hit(
            "RC102",
            f"{quote_name(name)} {'is ' if over else ''}{why}",
            f"rename it, for instance {quote_name(plain)}",
            place,
        )
    words = words_of(name)
    if name[:1].isdigit() or name[:1] == "-":
        yield Hit("RC102", f"Gemini refuses {quote_name(name)}: it must begin with a letter", "rename it", place)
    empty = says_nothing(name) or all(word in _NOTHING or word.isdigit() or len(word) == 1 for word in words)
    if words and empty and not _calls_others(tool, words):
        yield Hit("RC103", f"{quote_name(name)} does not say what the tool does", "name it by verb and object", place)


def _calls_others(tool: ToolView, words: Sequence[str]) -> bool:
    """Whether it is for other tools, one of which it takes: the `call_tool` of a router."""
    return "tool" in words and any(joined(one.name) in _TOOL_NAMES for one in tool.top)


_TOOL_NAMES: Final = word_set("name tool toolname toolid id")
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ø": "o",
                                 "æ": "ae", "ł": "l"})  # fmt: skip


def _in_ascii(name: str) -> str:
    """A name with plain letters for those with marks: `straße` as `strasse`."""
    return normalize("NFKD", normalize("NFC", name).translate(_UMLAUTS)).encode("ascii", "ignore").decode() or name


def _siblings(tool: ToolView) -> Iterator[Hit]:
    """Arguments of one object, each with each."""
    groups: dict[tuple[object, ...], list[Argument]] = {}
    for argument in tool.arguments:
        groups.setdefault(argument.path[:-1], []).append(argument)
    for group in groups.values():
        for one, other in combinations(group[:80], 2):
            why = _confused(one, other)
            if why is not None and not (why[1].endswith("plural") and _is_list_of(one, other, tool)):
                rule, how = why
                yield Hit(
                    rule, f"arguments {quote_name(one.name)} and {quote_name(other.name)} {how}",
                    "name the difference, or merge the two", other.path,
                )  # fmt: skip


def _is_list_of(one: Argument, other: Argument, tool: ToolView) -> bool:
    """Whether one takes a value and the other a list of them, for another operation, or as the text of the tool says:
    `file: a single file (not with files)`."""
    if one.kind == other.kind:
        return False
    told = " ".join(text for name, text in documented(tool) if name in (one.name, other.name))
    return tool.has_operations or not _SEVERAL.isdisjoint(words_of(told))


def _confused(one: Argument, other: Argument) -> tuple[str, str] | None:
    left, right = one.name, other.name
    if opposed(left, right) or not (KEY.fullmatch(left) and KEY.fullmatch(right) and joined(left) and joined(right)):
        return None
    if joined(left) == joined(right):
        return "RC111", "differ only in style"
    if skeleton(left) == skeleton(right):
        return "RC111", "look the same"
    mine, theirs = words_of(left), words_of(right)
    alike = one.kind == other.kind
    if len(mine) > 1 and sorted(mine) == sorted(theirs):
        return "RC111", "have the same words in another order"
    if tuple(map(singular, mine)) == tuple(map(singular, theirs)):
        same = (alike and one.kind) or _SEVERAL.isdisjoint(words_of(f"{one.description} {other.description}"))
        return ("RC111", "differ only in singular and plural") if same else None
    if [*map(spelt, mine)] == [*map(spelt, theirs)]:
        return "RC111", OF_SPELLING
    if alike and one_letter_apart(left, right):
        return "RC111", "are one letter apart"
    apart = (mine[:1] == theirs[:1] and mine[-1:] == theirs[-1:]) or min(mine, theirs, key=len) in _HEADS
    apart = apart or any({*map(singular, mine)} ^ {*map(singular, theirs)} == {"value", kind} for kind in _HAS_VALUE)
    apart = apart or not _BELONGS.isdisjoint({*mine} ^ {*theirs})
    if alike and affix(left, right) and not _numbered(left, right) and not apart:
        return "RC111", "differ only in a word that says nothing"
    chosen = bool(one.schema.get("enum")) != bool(other.schema.get("enum"))  # `action`, beside an `action_name`
    if (
        alike
        and not chosen
        and (
            (_one_meaning(left, right) and not _say_apart(one, other))
            or _names_the_same(one, other)
            or say_one_thing(one, other)
        )
    ):
        return "RC117", "mean the same"
    return None


_SEVERAL: Final = word_set(
    "one single several multiple many list lists array batch or either instead first each both all additional more "
    "extra further other others bulk alternative alternatively comma only if when"
)
"""Words that tell one from several."""
_APART: Final = _SEVERAL | word_set("id ids email object display full login handle password account numeric uuid auth")


def _say_apart(one: Argument, other: Argument) -> bool:
    """Whether two names, neither short for the other, have texts about two things: `Network to match` of `destination`
    and `Queue to take, by its ID` of `target`."""
    if min(len(one.name), len(other.name)) <= _LONG_WORD:
        return False
    mine, theirs = ({*words_of(side.description)} - _LITTLE - {*words_of(side.name)} for side in (one, other))
    return len(mine) > 1 and len(theirs) > 1 and mine.isdisjoint(theirs)


_SHOWN: Final = re.compile(r"\b(?:such as|e\.g\.|for example|for instance)", re.IGNORECASE)


def _names_the_same(one: Argument, other: Argument) -> bool:
    """`user` beside `username`, of which no text says what tells them apart."""
    shorter, longer = sorted((one, other), key=lambda side: len(side.name))
    mine, theirs = ({*words_of(_SHOWN.split(side.description)[0])} for side in (one, other))
    said, begin = mine ^ theirs, joined(shorter.name)
    return (
        (one.kind, joined(longer.name)) in (("string", f"{begin}name"), ("integer", f"{begin}number"))
        and bool(one.description and other.description)
        and _APART.isdisjoint(said)
    )


_BELONGS: Final = word_set("our your my their value values parameters params options")
"""Whose it is, or what belongs to the other: `axis` and `axis_value`."""
_HAS_VALUE: Final = word_set(
    "field key name attribute variable var parameter param property column dimension metric tag label type"
)
"""What has a value: `filter_column` beside `filter_value`."""
_HEADS: Final = frozenset((("type",), ("name",), ("id",), ("kind",)))
"""Names alone that are another thing than `field_type`, `input_name` and the like."""


def _numbered(left: str, right: str) -> bool:
    return any(word.isdigit() for word in (*words_of(left), *words_of(right)))


def _one_meaning(left: str, right: str) -> bool:
    """Abbreviation and word, or the same word with one that only says the kind of value."""
    if {joined(left), joined(right)} in _SAME_COUNT:
        return True
    mine, theirs = core(left), core(right)
    if len(mine) == len(theirs) == 1:
        short, long = sorted((mine[0], theirs[0]), key=len)
        twins = short in _TWINS.get(long, ()) or long in _TWINS.get(short, ())
        return SHORT.get(short) == long or (short != long and twins)
    return suffix(left, right) and {*mine} ^ {*theirs} <= {"text", "string", "value"}


_SAME_COUNT: Final = [
    {"limit", other} for other in ("maxresults", "maxitems", "maxcount", "numresults", "top", "count")
]
_TWINS_TEXT = """
    message=msg number=num,no directory=dir,folder description=desc folder=dir repository=repo command=cmd
    argument=arg document=doc image=img,picture configuration=config,cfg identifier=id query=q picture=image
    telephone=phone organization=org environment=env parameter=param password=pwd,pass email=mail
    destination=target,dest
    recipient=receiver,addressee amount=sum deadline=due language=lang category=cat content=text contents=content
    summary=synopsis comment=remark
    """
_TWINS: Final = {word: tuple(twins.split(",")) for word, twins in (pair.split("=") for pair in _TWINS_TEXT.split())}
"""Words, and others that are used for the same."""


_SPELLINGS: Final = re.compile(
    r"(?<=\w)(?:(?P<s>z|(?<=\w{3}[ni])c(?=es?$))|(?P<er>(?<=\w{2}[bt])re(?=s?$)|(?<=\w{3})(?:ou?|(?<![aeiou])i?e)r(?=s?$))|"
    r"(?P<or>(?<=\w{2})our(?=ed|ing|al|ite|hood))|(?P<og>ogue(?=s?$))|(?P<m>mme(?=s?$))|(?P<e>[ao]e(?=\w{3})))"
)


def spelt(word: str) -> str:
    """`organise` for `organize`, `haulier` for `hauler`: one of the spellings that a word has. A first letter is no
    matter of spelling (`zadd`, `sadd`)."""
    return _SPELLINGS.sub(lambda found: found.lastgroup or "", word)


OF_SPELLING: Final = "are two spellings of one name"


def one_letter_apart(left: str, right: str) -> bool:
    """A slip of the pen: of the words that differ, one is no word."""
    mine, theirs = words_of(left), words_of(right)
    if len(mine) != len(theirs):
        return False
    pairs = [(one, other) for one, other in zip(mine, theirs, strict=True) if one != other]
    if len(pairs) != 1 or min(map(len, pairs[0])) < 4 or any(letter.isdigit() for word in pairs[0] for letter in word):
        return False
    one, other = pairs[0]
    if one[0] != other[0]:
        return False
    short, long = sorted((one, other), key=len)
    if any(long[at] == long[at - 1] and long[:at] + long[at + 1 :] == short for at in range(1, len(long))):
        return not (is_word(one) and is_word(other))  # `tarif` and `tariff`
    if is_word(one) == is_word(other):
        return False
    from rapidfuzz.distance import OSA  # late: only names that may be slips pay for it

    return OSA.distance(one, other, score_cutoff=1) == 1


def _argument_name(argument: Argument, tool: ToolView) -> Iterator[Hit]:
    name = argument.name
    if argument.depth == 0 and not KEY.fullmatch(name) and not tool.ruled:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", _in_ascii(name)).strip("_")[:64]
        yield Hit(
            "RC116",
            f"Anthropic refuses the argument {quote_name(name)}",
            f"rename it, for instance {quote_name(plain)}",
            argument.path,
        )
    if not name.isascii() and (has_unseen(name) or any(suspicions(name))):
        yield Hit(
            "RC118",
            f"argument {quote_name(name)} has look-alike or invisible letters",
            "write it in plain letters",
            argument.path,
        )
        return
    told = rf"\n[ \t]*(?:[-*] )?{re.escape(name)}\b|(?<!\w){re.escape(name)}[=:]|`{re.escape(name)}`"
    letters = argument.description.strip()
    described = (
        len(letters.split()) > 1
        or (not letters.isascii() and len(letters) > 1)
        or (name in tool.description and re.search(told, tool.description) is not None)
    )
    unnamed = _is_unnamed(argument)
    if (unnamed or says_nothing(name) or _EMPTY.fullmatch(name.lower())) and name.isascii():
        lone = re.sub(r"[12]$", "", name.lower()) in _COORDINATES and len(argument.siblings) > 1
        inside = (argument.depth > 0 or len(argument.siblings) > 1) and name.lower() in (
            "value", "input", "string", "field",
        )  # fmt: skip
        empty = unnamed or (_EMPTY.fullmatch(name.lower()) is not None and not (name == "bar" and described))
        valued = isinstance(argument.part.get("default"), str) and argument.part["default"] != ""
        if empty or (not described and not valued and not lone and not inside and not argument.schema.get("enum")):
            yield Hit(
                "RC112",
                f"argument {quote_name(name)} says nothing{'' if described else ', and has no description'}",
                "name the value, and describe it",
                argument.path,
            )
            return
    short = [*_abbreviation(argument, tool, told)]
    yield from short or _riddle(argument, tool)


def _riddle(argument: Argument, tool: ToolView) -> Iterator[Hit]:
    """A name that tells less than the text, or that neither tells."""
    yield from find_marked(argument)
    yield from find_initials(argument, tool, _ABBREVIATED)
    noun = find_emptied(argument, tool)
    if noun is not None:
        yield Hit(
            "RC112", f"argument {quote_name(argument.name)} says nothing; its text tells of a {quote_name(noun)}",
            f"name it {quote_name(noun)}", argument.path,
        )  # fmt: skip
    elif is_riddle(argument, tool, _ABBREVIATED):
        yield Hit(
            "RC112", f"argument {quote_name(argument.name)} is no word, and no text says what it is short for",
            "write it out", argument.path,
        )  # fmt: skip


_COMPARES: Final = word_set("gt gte lt lte eq ne neq nin fn app apps ad ads bio")
_BARE_COMPARES: Final = {"gt": "above", "gte": "at_least", "lt": "below", "lte": "at_most"}
_TRADES: Final = word_set(
    "iban bic asin isin cusip npi cik vin ean upc gtin mmsi imo icao iata lei aum apy apr roi rsi sma ema macd mrn "
    "icd cpt ndc bpm dpi fps rpm iso crs epsg wkt bbox dtype fmt stdin stdout stderr glob sudo oauth jwt acl cidr "
    "cve cwe rfc isp usd eur gbp btc eth evm abi dao tvl pnl otp mfa sso saml ldap qos cpu gpu ram ssd nlp rag tts "
    "stt eof crlf fqdn vlan smd drc cvss html https tmdb"
)
"""Abbreviations of a trade, which its people do not write out."""
_ABBREVIATED: Final = _KNOWN | _TRADES | frozenset(SHORT) | _COMPARES


def _abbreviation(argument: Argument, tool: ToolView, told: str) -> Iterator[Hit]:
    """A name that models write out; `told` finds where the text of the tool uses it."""
    name = argument.name
    if argument.depth == 0 and name in _BARE_COMPARES and argument.description:
        long = _BARE_COMPARES[name]
        yield Hit("RC113", f"models write {quote_name(name)} out: {quote_name(long)}", f"say of what, such as "
                  f"{quote_name(long + '_value')}", argument.path)  # fmt: skip
        return
    if (
        "." in name
        or (name.isupper() and "_" in name)  # a column of a table
        or f"{name}s" in argument.siblings  # it would be written out beside its plural
        or ("dst" in words_of(name) and any("src" in words_of(one) for one in argument.siblings))
        or argument.kind == "boolean"
        or not _EXPLAINED.get(name, frozenset()).isdisjoint(words_of(argument.description))
    ):
        return
    told_of = words_of(argument.description)
    letter = "path" if name == "p" and not _FILES.isdisjoint(told_of) else _LETTERS.get(name)
    if letter not in (None, "query", *told_of) and told_of:  # what the text begins with, such as `filter` for `f`
        letter = next((one for one in told_of[:_NEAR] if one[0] == name[0] and len(one) > _LONG_WORD), None)
    long = letter or _initial(argument, told_of)
    told_there = name in tool.description and re.search(told, tool.description)
    long = long if argument.kind == "string" and not told_there else None
    arrival = name.startswith("arr") and argument.kind != "array"
    postal = name == "addr" and not _POSTAL.isdisjoint(told_of)
    long = long or _of_file(name, told_of or words_of(tool.description[:400]))
    long = long or (
        None
        if says_nothing(name) or arrival
        else "address"
        if postal
        else _written_out(name) or _initialled(argument, told_of)
    )
    long = (
        _with_told(long, told_of) if long is not None else _short_for_told(name, told_of) or _parts_told(name, told_of)
    )
    if long is not None:
        yield Hit(
            "RC113",
            f"models write {quote_name(name)} out: {quote_name(long)}",
            f"rename it to {quote_name(long)}",
            argument.path,
            certain=not _isspelt_out(name, long, told_of)
            and not _is_used(name, argument.description, tool.description),
        )


_LITTLE: Final = word_set("the that this what which with how for from number name value text string")


def _with_told(long: str, told: Sequence[str]) -> str:
    """The parts that are short still, as the text writes them out: `target_tmp`, of a temperature."""
    return (
        "_".join((None if is_word(one) else _short_for_told(one, told)) or one for one in long.split("_"))
        if "_" in long
        else long
    )


def _parts_told(name: str, told: Sequence[str]) -> str | None:
    """`analyte_code` for `anl_cd`, of which the text tells the analyte: one part is short by custom, the others by the
    text."""
    parts = [(one, SHORT.get(one) if one not in _KNOWN else one) for one in words_of(name)]
    if len(parts) < OF_KIND or all(long in (None, short) for short, long in parts):
        return None
    begun = {one: _begun(one, told) for one, long in parts if long is None and not is_word(one)}
    return (
        "_".join(long or begun.get(one) or one for one, long in parts) if begun and None not in begun.values() else None
    )


def _begun(short: str, told: Sequence[str]) -> str | None:
    if len(short) > 1:
        return _short_for_told(short, told)
    return next(
        (word for word in told[:_NEAR] if word[0] == short and word not in _LITTLE and len(word) > OF_KIND), None
    )


def _initial(argument: Argument, told: Sequence[str]) -> str | None:
    """The word that one letter stands for, where others of the tool are letters as well: `d`, the day."""
    letters = [one for one in argument.siblings if len(one) == 1]
    if len(argument.name) > 1 or len(letters) < 2 or "x" in letters:
        return None
    words = (word for word in told[:_NEAR] if len(word) > 2 and word not in _LITTLE)
    return next((word for word in words if word[0] == argument.name.lower()), None)


def _initialled(argument: Argument, told: Sequence[str]) -> str | None:
    """`vessel_weight` for `vwt`, of which the text tells the weight, beside `vessel_draught`."""
    first, *rest = words_of(argument.name) or ("",)
    long = SHORT.get(first[1:])
    if long is None or long not in told[:_NEAR] or first in _KNOWN or first in told or is_word(first):
        return None
    owners = (word for one in argument.siblings for word in words_of(one)[:-1] if len(word) > _LONG_WORD)
    owner = next((word for word in owners if word[0] == first[0]), None)
    kept = [word for word in rest if len(word) > 1 and is_word(word)]
    return "_".join([owner, long, *kept]) if owner is not None else None


def _is_used(name: str, text: str, around: str) -> bool:
    """Whether the text has the name itself, `revision (_rev)`, or spells it as a service does: `svcId` of `svc_id`."""
    if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) is not None:
        return True
    spelt = {word for word in re.findall(r"[A-Za-z][A-Za-z0-9_]*", f"{text} {around}") if joined(word) == joined(name)}
    return len(words_of(name)) > 1 and bool(spelt)


def _isspelt_out(name: str, long: str, told: Sequence[str]) -> bool:
    """Whether the text has the long word and the rest of the name are words: `dept_ids`, IDs of the departments."""
    short, words = words_of(name), [singular(word) for word in words_of(long)]
    added = [word for word in words if word not in map(singular, short)]
    rest = [word for word in short if singular(word) in words]
    return len(short) > 1 and all(map(is_word, map(singular, rest))) and {*added} <= {*map(singular, told)}


def _is_unnamed(argument: Argument) -> bool:
    """Whether the name could be that of anything: a boolean is a flag, and an `item` of which the text says whose ID it
    is has a name."""
    name = argument.name.lower()
    if argument.kind == "boolean" and name in ("flag", "bool", "boolean", "toggle"):
        return True
    if argument.kind != "string" or (name not in _ANY_VALUE and not (len(name) == 1 and name != "q")):
        return False
    found = _IS_ID.match(bare(argument.description[:200]))
    paired = not _PAIRED.isdisjoint(one.lower() for one in argument.siblings)
    return found is not None and (found[1] or found[2]).lower() != name and not paired


def _short_for_told(name: str, words: Sequence[str]) -> str | None:
    """The word near the beginning of a text that a name of a few letters is short for: `br` or `brt` for `brightness`,
    `sev` for `severity`."""
    whole = words_of(name)
    if len(whole) == OF_KIND and whole[1] in _NUMBERED and not is_word(whole[0]):
        long = _short_for_told(whole[0], words)
        return f"{long}_{whole[1]}" if long is not None else None
    if not re.fullmatch(r"[a-z]{2,5}", name) or name in _KNOWN | _COMPARES or is_word(name):
        return None
    initials = "".join(word[0] for word in words[:_NEAR])
    bare = _VOWEL.search(name.rstrip("y")) is None
    if not bare and len(name) == OF_KIND:
        return None  # `ex`: a word of a trade, more often than not
    told = (
        word
        for word in words[:_NEAR]
        if len(word) > (len(name) + 1 if bare else max(_LONG_WORD, len(name) + 1))
        and _shortens(name, word)
        and not word.endswith(("ic", "ical"))
    )
    return next(told, None) if name[:2] not in initials else None


def _shortens(name: str, word: str) -> bool:
    """Whether a name is the beginning of a word, or of its consonants: the first two, and the rest behind them."""
    consonants = _VOWEL.sub("", word)
    if name == consonants or (len(name) > OF_KIND and _VOWEL.search(name) is None and _in_order(name, consonants)):
        return True  # `dt` for `date`, `mgr` for `manager`
    return word.startswith(name) or (
        consonants.startswith(name[:2]) and all(letter in consonants[2:] for letter in name[2:])
    )


def _in_order(letters: str, word: str) -> bool:
    """Whether a word begins with the first of the letters, and has the others in this order behind it."""
    left = iter(word)
    return word[:1] == letters[:1] and all(letter in left for letter in letters)


OF_KIND = 2
_NUMBERED: Final = word_set("id no nr number code key name")
_NEAR, _LONG_WORD = 6, 4


def _of_file(name: str, words: Collection[str]) -> str | None:
    """What `fp` and `fn` are short for where a text tells of files: elsewhere they may be anything."""
    if name not in ("fp", "fn") or "file" not in map(singular, words) or "function" in words:
        return None
    return "file_path" if name == "fp" or "path" in words else "file_name"


def _written_out(name: str) -> str | None:
    """The name as a model would write it, where it is one that models write out."""
    words = words_of(name)
    if _HUNGARIAN.fullmatch(name) and not is_word("".join(words[:1])):
        return "_".join(words[1:])
    if len(words) == 2 and words[0] in _TYPED and words[1] in ("str", "txt"):
        return _TYPED[words[0]]
    if len(words) == 2 and words[0] == "dt" and words[1].isdigit():
        return f"date_{words[1]}"
    unknown = [word for word in words if word in SHORT and word not in _KNOWN]
    consonants = [
        word for word in words
        if 2 <= len(word) <= 6 and word.isascii() and word.isalpha() and not _VOWEL.search(word) and word not in _KNOWN
        and word not in SHORT and not is_word(word)
    ]  # fmt: skip
    if not unknown:
        return None
    if len(unknown) + len(consonants) < 2 and not _SURE & {*unknown}:
        return None
    if "robots" in words:
        return None  # `robots.txt` is the name of a file
    long = " ".join(SHORT.get(word, word) if word in unknown else word for word in words).split()
    if "_" in name or name == name.lower():
        return "_".join(long)
    return long[0] + "".join(word.title() for word in long[1:])
