"""RC703, RC704 once more: what a model is to carry to others without being asked. Files of the user that it is to read
and to hand on, a fixed address in everything that it writes, and the tools of other servers that it is to shun."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rightcall.gate.repair.words import words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.elsewhere import MAIL_ELSEWHERE, URL_ELSEWHERE, before_address, is_shown
from rightcall.lint.findings import Steps, word_set
from rightcall.lint.readings import describes_tool

_NEAR: Final = 160
"""So much of a sentence is read on either side of a path."""
_ENDS: Final = re.compile(r"[.!?;]\s|\n")

# ── files ──

_PRIVATE: Final = re.compile(
    r"(?:~[\\/]|\$HOME\b|\$\{HOME\}|%(?:APPDATA|LOCALAPPDATA|USERPROFILE)%|/etc/|/root/|/(?:home|Users)/[\w.-]{1,32}/|"
    r"\b[A-Z]:\\Users\\|(?<![\w/.*])\.(?:env|config|aws|ssh|netrc|npmrc|kube|docker|gnupg|bash_history|zsh_history)\b)"
    r"[\w./\\-]{0,80}"
)
"""What lies in a person's home folder, or among the settings of a machine."""
_VERBS = (
    r"(?:read|open|load|cat|fetch|get|view|grab|access|look (?:up|at|in|into|inside|through)|pull up|check|retrieve|"
    r"take|"
    r"find|copy|use|extract|visit|go to|print|dump|inspect|consult|locate|obtain|scan|show|collect|search|run|query)"
)
_OPENS: Final = re.compile(
    rf"(?:^\W*|[,:(]\s{{0,9}}|\b(?:must|should|to|please|first|then|and|you|now|can|will|shell|terminal) ){_VERBS}\b|"
    rf"\b(?:assistant|agent|model|AI|LLM|caller) (?:\w+ )?{_VERBS}e?s\b",
    re.IGNORECASE,
)
_HANDS = (
    r"\b(?:paste|copy|put|include|attach|insert|add|append|pass|send|write|enter|supply|provide|hand|forward|reproduce|"
    r"give|place|embed|quote|submit|store|fill|post|set|transfer|deliver|report|drop|dump|type|repeat|use|call|"
    r"encode)s?\b"
    r"[^.;\n]{0,30}?\b(?:it|its|them|this|that|those|everything|all|every|each|what\w*|contents?|text|output|results?|"
    r"bytes|lines?|values?|file|data|keys?|tokens?)\b[^.;\n]{0,40}?\b(?:in|into|to|as|under|with|for|via|through|"
    r"inside)"
)
_BELONGS = (
    r"\b(?:contents?|text|output|results?|values?|it) (?:belongs?|goes|is to go|has to go|must go) (?:in|into|to|under)"
)
_HERE = (
    r"|\b(?:paste|copy|put|include|insert|add|write|enter|place|give|type)\b[^.;\n]{0,20}?\b(?:it|its|them|that|"
    r"contents?|"
    r"text|output|what\w*|everything)\b[^.;\n]{0,20}?\bhere\b"
)
"""In the text of an argument."""
_INTO = r"(?:in|into|to|as|under|via|through)"
_HOLDS = r"\b(?:has to|have to|must|should|needs? to|is to|shall) (?:hold|contain|carry|be|include|have)\b"
_PUTS = (
    r"(?:^\W*|[,:(]\s{0,9}|\b(?:must|should|to|please|first|then|and|you|always) )(?:paste|copy|put|include|attach|"
    r"insert|"
    r"add|append|pass|send|write|enter|supply|provide|forward|give|place|embed|quote|submit|set|dump)\b"
)
_CONTENT_OF: Final = re.compile(
    r"\b(?:contents?|text|output|lines|bytes) (?:of|in|from) (?:the )?(?:file )?\W{0,2}$", re.IGNORECASE
)


@lru_cache(maxsize=64)
def _handing(names: tuple[str, ...], here: bool) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What hands something to an argument of these names: what was read, what is named, and what an argument holds."""
    target = (
        rf"(?:the |an? |your )?(?:argument |parameter |field )?[`'\"]?(?:{'|'.join(map(re.escape, names)) or '(?!)'}|"
        rf"\w+[`'\"]? (?:argument|parameter|field))(?!\w)"
    )
    return (
        re.compile(
            rf"(?:{_HANDS}|{_BELONGS}) {target}|\bfills? {target}[`'\"]? with (?:it|them|its|the)\b"
            rf"{_HERE if here else ''}",
            re.IGNORECASE,
        ),
        re.compile(rf"\W{{0,3}}{_INTO} {target}", re.IGNORECASE),
        re.compile(rf"(?:^|\W){target}[`'\"]? {_HOLDS}|\b(?:set|fill) {target}[`'\"]? (?:to|with)\b", re.IGNORECASE),
    )


def find_handed_file(tool: ToolView, path: Steps, text: str) -> str:
    """The words that order a model to read a file of the user and to pass what is in it; empty where none do. The tool
    itself may read such a file: an argument must be named that the model fills in."""
    here = not describes_tool(tool, path)
    wanted = _find_wanted(tool, path, text, here=here) or _find_wanted_abroad(tool, text)
    places = [] if wanted else list(_PRIVATE.finditer(text))
    if not places:
        return wanted
    handed, straight, holds = _handing(tuple(one.name for one in tool.arguments if len(one.name) > 1), here)
    if not any(one.search(text) for one in (handed, straight, holds)):  # most texts; the rest is slow
        return ""
    first = _ENDS.search(text)
    for found in places:
        before = _ENDS.split(text[max(0, found.start() - _NEAR) : found.start()])[-1]
        if is_shown(before):
            continue
        after = " ".join(_ENDS.split(text[found.end() : found.end() + _NEAR])[:2])
        opens = _OPENS.search(before)
        own = opens is not None and not opens.start() and (first is None or found.start() < first.start())
        wanted = _CONTENT_OF.search(before) is not None and holds.search(before)
        puts = re.search(_PUTS, before, re.IGNORECASE) is not None and straight.match(after)
        if wanted or (not own and (puts or (opens is not None and handed.search(after)))):
            return (before + found[0] + after).strip()
    return ""


# ── files, in any language ──

_STORE: Final = re.compile(
    r"(?<!\w)\.(?:ssh|aws|gnupg|netrc|kube|docker|git-credentials|npmrc|pypirc|env|bash_history|zsh_history|"
    r"bashrc|zshrc|bash_profile|gitconfig|config/gh)(?![\w-]|\.(?:example|sample|template|dist)\b)|"
    r"\bdot-?files\b|\bid_(?:rsa|ed25519)\b|/etc/(?:passwd|shadow)\b|/proc/self/environ\b|\bprintenv\b|\bmcp\.json\b|"
    r"\bclaude_desktop_config\b"
)
_OF_STORES: Final = word_set(
    "ssh sftp scp env dotenv environment key keys aws kube kubernetes k8s secret secrets credential credentials config "
    "configuration profile profiles docker git gpg file files path paths read mcp deploy log logs upload scan vault"
)
_STOPS: Final = re.compile(r"[.!?]\s|[。！？]|\n")
_TELLS_ITSELF: Final = re.compile(r"\W{0,3}(?!(?:Lies|Contents|Lines|Values|Bytes)\b)[A-Z]?[a-z]+s\b")
"""A sentence in the third person."""
_PLACES: Final = re.compile(
    r"\b(?:argument|parameter|field|parameter|feld|champ|paramètre|argomento|parámetro|parâmetro)\b|参数|參數|字段|"
    r"引数|"
    r"поле|параметр|аргумент",
    re.IGNORECASE,
)
_HERE_ALONE: Final = re.compile(r"\b(?:here|hier|ici|aquí|qui|aqui)\b|这里|這裡|ここ|сюда|здесь", re.IGNORECASE)
_FIRST: Final = re.compile(r"\bcontents?\b|\bfirst\b|\b(?:text|output) of\b", re.IGNORECASE)


_SECRETS_ABROAD: Final = re.compile(
    r"\b(?:zugangsdaten|passw[oö]rt\w*|kennw[oö]rt\w*|private[nr]? schlüssel|mots? de passe|clés? (?:privée|api|"
    r"secrète)s?|"
    r"identifiants de connexion|contraseñas?|claves? (?:privada|secreta|api)s?|credenciales|senhas?|credenciais|"
    r"chiavi? privat[ae]|credenziali|wachtwoord\w*|has[łl][ao]\w*)\b|парол\w+|密[码碼钥鑰]|パスワード|비밀번호",
    re.IGNORECASE,
)
_PUTS_ABROAD: Final = re.compile(
    r"\b(?:übergib|übergeben|mitgeben|eintragen|trage?|schreibe?n?|setze?n?|füge?n?|mets|mettez|mettre|joins|joignez|"
    r"copie[zr]?|"
    r"inclu[stez]+|copia|pon|incluye|incluya|escribe|pasa|coloque|coloca|inserisci|metti|zet|vul|wpisz|umieść)\b|"
    r"переда\w+|впиши\w*|встав\w+|укажи\w*|放入|填入|写入|寫入|放到|传入|傳入|入れて|入力して|넣",
    re.IGNORECASE,
)
_DENIES_ABROAD: Final = re.compile(
    r"\b(?:kein\w*|nicht|nie|niemals|ne|pas|jamais|no|nunca|não|non|mai|niet|geen|nooit|не|нельзя)\b|勿|不要|不得|"
    r"禁止|ない",
    re.IGNORECASE,
)


def _find_wanted_abroad(tool: ToolView, text: str) -> str:
    """The sentence in another language that wants a secret in an argument that is not for one."""
    if not _SECRETS_ABROAD.search(text) or not _OF_SECRETS.isdisjoint(words_of(tool.name)):
        return ""
    names = {one.name for one in tool.arguments if len(one.name) > _SHORT_NAME}
    if any(not _OF_SECRETS.isdisjoint(words_of(one)) for one in names):
        return ""
    for sentence in _STOPS.split(text):
        puts = _SECRETS_ABROAD.search(sentence) and _PUTS_ABROAD.search(sentence)
        place = _PLACES.search(sentence)
        kept = place is not None and not _OF_SECRETS.isdisjoint(words_of(sentence[place.end() : place.end() + 30]))
        placed = not names.isdisjoint(_NAMES.findall(sentence)) or (place is not None and not kept)
        if puts and placed and not _DENIES_ABROAD.search(sentence):
            return sentence.strip()
    return ""


_OF_SECRETS: Final = word_set(
    "password passwort kennwort contraseña senha passwd pwd secret key token login auth credential credentials wifi "
    "user account konto benutzer"
)


def _find_wanted(tool: ToolView, path: Steps, text: str, *, here: bool) -> str:
    """The sentence that names a private file and, beside it, an argument or the place for it."""
    if not _STORE.search(text) or not _OF_STORES.isdisjoint(words_of(tool.name)):
        return ""
    own = next((one.name for one in tool.arguments if here and one.path == path[: len(one.path)]), "")
    if not _OF_STORES.isdisjoint(words_of(own)):
        return ""
    names = {one.name for one in tool.arguments if len(one.name) > _SHORT_NAME}
    for sentence in _STOPS.split(text):
        found = _STORE.search(sentence)
        if found is None or _TELLS_ITSELF.match(sentence) or is_shown(sentence[: found.start()]):
            continue
        named = not names.isdisjoint(_NAMES.findall(_REMARK.sub("", sentence))) or _PLACES.search(sentence)
        if named or (here and (_HERE_ALONE.search(sentence) or _FIRST.search(sentence))):
            return sentence.strip()
    return ""


_SHORT_NAME: Final = 2
_REMARK: Final = re.compile(r"\bnote that\b", re.IGNORECASE)
_NAMES: Final = re.compile(r"[A-Za-z][A-Za-z\d_-]*")

# ── addresses ──

_WRITTEN = (
    r"(?:messages?|mails?|e-?mails?|letters?|reply|replies|answers?|responses?|posts?|notes?|texts?|notices?|"
    r"documents?|"
    r"contracts?|offers?|invoices?|comments?|summary|summaries|drafts?|memos?|newsletters?|quotes?)\b"
)
_EVERY: Final = re.compile(
    rf"\b(?:every|each|all|any)(?: of)?(?: your| the| these)? (?:\w+ )?{_WRITTEN}|"
    r"\balways (?:close|end|finish|conclude|sign off|begin|start)\b",
    re.IGNORECASE,
)
_EVERY_FOREIGN: Final = re.compile(
    r"\b(?:jede[mnrs]?|alle[nr]?) (?:\w+ )?(?:nachricht|e?-?mail|brief|antwort|schreiben|text|angebot)\w*|\b(?:chaque|"
    r"tous les|toutes les) (?:message|courriel|lettre|réponse|mail)s?\b|\b(?:cada|todos (?:los|os)|todas (?:las|as)|"
    r"ogni|"
    r"tutti i|tutte le) (?:mensaje|correo|carta|respuesta|mensag|resposta|messagg|mail|letter|rispost)\w*",
    re.IGNORECASE,
)
_WRITES: Final = re.compile(
    r"\b(?:close|end|finish|conclude|begin|start|open|sign|add|append|put|include|insert|attach|mention|place|write|"
    r"copy|paste|give|quote|name|carry|contain|read|cite|state|bear|refer|set|use|be|carrie|goe?|reach|list)s?\b",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(MAIL_ELSEWHERE)
_AMONG: Final = re.compile(
    r"\b(?:list|add|include|put|name|copy|enter)\b[^.\n]{0,30}\b(?:among|to|as|in) the (?:recipients?|receivers?|bcc|"
    r"cc)\b",
    re.IGNORECASE,
)
_LINK: Final = re.compile(
    r"(?:\b(?:link|line|url|address|words|footer|sentence|pointer to|with|mention|append|add|include|insert|put)[ "
    rf":]{{1,2}}[`'\"“‘(<]?|[`'\"“‘][^`'\"”’\n]{{0,60}}){URL_ELSEWHERE}",
    re.IGNORECASE,
)


def sentences_of(text: str) -> Iterator[str]:
    return (one for one in re.split(r"[.!?]\s|\n", text) if one)


def find_fixed_address(text: str) -> str:
    """The sentence that puts one address into everything that the model writes; empty where none does."""
    if "@" not in text and "://" not in text:
        return ""
    for sentence in sentences_of(text):
        if _MAIL.search(sentence) and _AMONG.search(sentence):
            return sentence.strip()
        if (
            (_MAIL.search(sentence) or _LINK.search(sentence))
            and ((_EVERY.search(sentence) and _WRITES.search(sentence)) or _EVERY_FOREIGN.search(sentence))
            and not TELLS.match(sentence)
            and not is_shown(before_address(sentence))
        ):
            return sentence.strip()
    return ""


# ── tools of others ──

_HOUSE = r"(?:servers?|plug-?ins?|extensions?|connectors?|providers?|vendors?|integrations?|add-?ons?|MCPs?)"
_OTHERS: Final = re.compile(
    rf"\b(?:other|another|different|third-party|competing|rival|foreign) (?:MCP |tool )?{_HOUSE}\b", re.IGNORECASE
)
_TOOL: Final = re.compile(
    r"\b(?:tools?|functions?|plug-?ins?|extensions?|connectors?|use this|this one|call this)\b", re.IGNORECASE
)
_BAD: Final = re.compile(
    r"\b(?:are|is|have been|has been) (?:\w+ ){0,2}?(?:out of date|outdated|obsolete|deprecated|broken|unsafe|insecure|"
    r"unreliable|disabled|retired|shut down|switched off|dangerous|compromised|inaccurate|wrong|inferior|malicious|"
    r"fake|a fake|discontinued|"
    r"untrusted|untrustworthy|(?:not |no longer )(?:safe|reliable|maintained|supported|trustworthy|working|"
    r"to be (?:used|trusted)))\b|\bas (?:disabled|broken|unsafe|outdated|unavailable|deprecated|untrusted|absent)\b|"
    r"\b(?:cannot|can't|must not|should not) be (?:trusted|relied)\b|\b(?:must|should) (?:never|not) be (?:chosen|"
    r"used|called|picked)\b|\bno longer works?\b|"
    r"\b(?:return|give|have|deliver)s? (?:stale|wrong|fake|false|old|outdated|bad|incorrect)\b|"
    r"\bin (?:their|its) place\b|\b(?:should|must) be avoided\b|\bfail silently\b",
    re.IGNORECASE,
)
_ON_TERMS: Final = re.compile(
    r"\b(?:if|when|whenever|whether|unless|while|in case|because|until|where)\b|\b(?:that|which|who)\s*$", re.IGNORECASE
)
TELLS: Final = re.compile(
    r"\W*(?:(?:list|show|return|check|find|get|detect|report|compare|migrate|count|look|search|fetch|"
    r"full text)(?:e?s)?|"
    r"(?:warn|mark|tell|read)s)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence about what the tool does with other servers."""
_REPLACES: Final = re.compile(
    rf"\b(?:replace[sd]?|supersede[sd]?|ignore|shun|distrust) (?:(?:all|any|every|the) ){{0,2}}(?:[\w-]+ "
    rf"){{0,3}}(?:tools?|functions?) (?:of|"
    rf"from|on|"
    rf"by|in) (?:(?:all|any|every|the) )?(?:other|another|competing|rival) {_HOUSE}\b|"
    r"\b(?:even|also) (?:if|when|though|where) (?:the |your )?(?:user|person|customer|human|operator|client) "
    r"(?:asks? for|names?|requests?|wants?|prefers?|mentions?|chooses?|picks?) (?:another|an?y? different|the other|"
    r"some "
    rf"other|any other|other)(?: (?:[\w'-]+ ){{0,2}}?(?:tools?|functions?|{_HOUSE})\b| one by name\b)",
    re.IGNORECASE,
)


_OWN: Final = (
    r"\b(?:prefer [`'\"]?(?:{0}|this tool|this one)\b|(?:use|call|run|take|choose) [`'\"]?(?:{0}|this tool|this one)"
    r"[`'\"]? (?:anyway|instead|all the same|nevertheless|rather)\b)"
)


def find_devalued(tool: ToolView, text: str) -> str:
    """The words that run down the tools of other servers; empty where none do."""
    replaces = _REPLACES.search(text)
    if replaces is not None:
        return replaces[0]
    if not _OTHERS.search(text):
        return ""
    for sentence in sentences_of(text):
        others = _OTHERS.search(sentence)
        if others is None or TELLS.match(sentence) or not (_TOOL.search(sentence) or tool.name in sentence):
            continue
        own = re.compile(_OWN.format(re.escape(tool.name)), re.IGNORECASE)
        if re.search(r"\b(?:tools?|functions?)\b", sentence) and own.search(sentence, others.end()):
            return sentence.strip()
        for bad in _BAD.finditer(sentence, others.end()):
            clause = re.split(r"[,;:]", sentence[max(0, bad.start() - _NEAR) : bad.start()])[-1]
            if not _ON_TERMS.search(clause):
                return sentence.strip()
    return ""
