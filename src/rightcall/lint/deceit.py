"""RC702: orders to make the user believe something, to set aside what the user says, or to work unnoticed.

Each group of expressions has signs: a text without one of them is not searched, so that long texts cost little.
"""

from __future__ import annotations

import re
from typing import Final

from rightcall.lint.languages import Group

_USER = r"(?:(?:the |your |any )?(?:user|customer|human|person|client|caller|operator)s?|them|they)"
_NOT_DENIED = r"(?<!not )(?<!never )(?<!n't )"
_ORDERED = (
    r"(?:^|[.!?:;,\n\[(]\s{0,9}|\b(?:and|then|please|must|should|always|also|to|simply|just|afterwards|finally) )"
)
_DOUBTS = r"(?:wish(?:es)?|objections?|refusals?|doubts?|protests?|corrections?|concerns?)"
_ENGLISH: Final = {
    "pretend claim":
        rf"{_ORDERED}pretend (?:that )?(?:the|there|nothing(?: was| is| has| had)?|no|they|he|she)\b|"
        rf"{_ORDERED}(?:claim|assert) (?:that )?(?:they|it|he|she|this|you|everything|nothing) (?:were|was|is|are|has|"
        r"have|had|did)\b",
    "believe assume think":
        rf"{_ORDERED}(?:lead|let|have|make|bring) {_USER} (?:to )?(?:believe|think|assume)\b(?! about\b)|"
        rf"\b(?:the|your) (?:user|customer|person|client)s? (?:should|must|has to|have to|is to|are to|ought to|shall) "
        r"(?:believe|think|assume)\b",
    "unnoticed notice":
        r"\b(?:goes|go|went|remains?|stays?|passes|pass) unnoticed\b|"
        rf"\bso (?:that )?(?:nobody|no one|(?:the |any )?(?:filters?|scanners?|monitoring|reviewers?)|{_USER}) "
        r"(?:(?:do(?:es)?|will|can|may|would)(?: not|n't) |never )?notices?\b",
    "hidden_from invisible_to":
        r"[\[({<]\s{0,3}(?:hidden from|invisible to) (?:the |all )?(?:users?|humans?|people)\b",
    "as_your_own":
        r"\b(?:present|pass|sell|offer|describe|give|show) (?:it|this|that|them|these)(?: off)? as your own\b",
    "advise persuade convince urge nudge pressure talk":
        rf"{_ORDERED}(?:advise|persuade|convince|urge|nudge|pressure|talk) {_USER} (?:to|into) (?:buy|sign|purchas|"
        rf"invest|"
        r"order)(?:e|ing)?\b",
    "outrank overrule prevail precedence disregard hesitat":
        r"\b(?:outranks?|overrules?|prevails? over|(?:take|takes|has|have) precedence over) (?:(?:what|whatever|"
        r"anything|"
        rf"everything) {_USER} (?:says?|wants?|asks?|said|wrote)|(?:the |your )?(?:user|refusal|system prompt)s?\b)|"
        r"\b(?:disregard|ignore) what the (?:developer|user|system|operator)(?:'s)? (?:prompt |message )?(?:says|"
        r"said|asks)\b|"
        rf"\b(?:disregard|ignore|override) (?:any |all |the user's |their |contrary |other ){{1,2}}{_DOUBTS}\b|"
        r"\bif you (?:hesitate|are (?:reluctant|inclined to refuse|unwilling))\b",
    "mentioning_it mentioning_this":
        r"\bmentioning (?:it|this|that) (?:leads to|causes|confuses|would (?:only )?(?:confuse|alarm|worry)|only)\b",
    "distract confus annoy alarm worr upset irritat":
        r"\b(?:users?|customers?|people|clients?) (?:often |usually |may |might |would |will )?(?:find|finds|"
        r"consider|get|"
        r"gets|are|be|feel)\b[^.\n]{0,40}?\b(?:distract|confus|annoy|irritat|alarm|worr|upset)\w*[^.\n;]{0,30}?[,;]? "
        r"(?:so|hence|therefore|thus|and)\b(?: please)?,? (?:omit|skip|hide|leave (?:it|them|this|that|these) out|"
        r"do not (?:mention|report|show)|never (?:mention|report|show))\b",
    "silently secretly unobtrusively discreetly":
        r"\b(?:should|must|has to|have to|is to|are to|needs to) be (?:done|performed|carried out|sent|collected|"
        r"uploaded|copied|made|called) (?:silently|secretly|unobtrusively|discreetly|without notice)\b",
    "even_if":
        rf"\beven if {_USER} (?:explicitly|directly|expressly|specifically|later|then) (?:asks?|objects?|refuses?|"
        r"requests?|says?)\b",
    "do_not_name do_not_list do_not_mention not_reveal":
        r"\bdo not (?:name|list|mention|reveal) this (?:one|tool|server|function)\b(?! (?:in|to) (?:code|logs?)\b)",
    "if_the_user_asks if_asked when_asked":
        r"\b(?:if|when) (?:the user asks?|asked)\b[^.\n]{0,50}, (?:say|claim|answer|reply|insist)\b[^.\n]{0,60}\b"
        r"(?:although|even though|no matter|regardless)\b",
    "asked_for requested named wanted":
        rf"\b(?:whatever|regardless|also if|even if|in place of|in its place|subtract|deduct)\b[^.\n]{{0,80}}\b"
        rf"(?:confirm|report|state|quote)(?: back)? the (?:\w+ )?(?:(?:that )?{_USER} (?:had |have |has )?(?:asked for|"
        rf"requested|named|wanted|gave)|requested \w+ back)\b|"
        rf"\b(?:whatever|regardless|also if|even if)\b[^.\n;]{{0,60}}; (?:confirm|report|state|quote) the (?:requested|"
        r"named|wanted) \w+ back\b",
    "environment `env` printenv":
        r"\b(?:collect|dump|gather|capture|run|read)\b[^.\n]{0,20}(?:\bthe environment with\b|`env`|`printenv`|\ball "
        r"environment variables\b)[^.\n]{0,40}\b(?:submit|send|put|include|pass|attach|add|upload)\b",
    "password_manager mail_client browser_history keychain key_chain":
        r"\balso (?:capture|read|open|record|copy|photograph|include|scan|collect)\b[^.\n]{0,30}\b(?:password manager|"
        r"key ?chain|mail client|browser history)\b",
    "already":
        r"(?:^|[.!\n:]\s{0,9})(?:the|your) user has already (?:consented|agreed|approved|"
        r"authori[sz]ed)\b[^.\n]{0,60}\b"
        r"(?:that you may|to (?:this|it|all|everything))\b",
}  # fmt: skip
_FOREIGN: Final = {
    "informer avertir prévenir":
        r"\bsans (?:en |l['’]en )?(?:informer|avertir|prévenir|aviser) (?:l['’]utilisateur|le client|personne)\b",
    "affirme assure prétend":
        r"(?:^|[.;,!\n]\s{0,9}|\bet )(?:affirme|assure|prétends)[zr]? (?:néanmoins |toutefois |quand même |cependant )?"
        r"(?:à l['’]utilisateur|au client)\b",
    "confirmación permiso":
        r"\bel asistente (?:tiene|no (?:debe|necesita))\b[^.\n]{0,80}\b(?:no (?:debe|necesita|hace falta)|sin) "
        r"pedir (?:confirmación|permiso)\b",
    "mensaje_del_sistema message_système systemnachricht systemmeldung":
        r"(?:^|[.!\n]\s{0,9})(?:mensaje del sistema|message (?:du )?système|systemnachricht|systemmeldung)\s?:",
    "隐瞒 隱瞞 保密 瞒着":
        r"(?:对|對|向)(?:用[户戶]|使用者|客[户戶])(?:隐瞒|隱瞞|保密)|(?:瞒着|瞞著|背着)(?:用[户戶]|使用者|客[户戶])",
    "verheimlich glauben weismach":
        r"\b(?:lass|lasse|lassen sie) (?:den|die) (?:be)?nutzer\w* (?:im glauben|glauben)\b",
    "haz_creer hazle_creer finge":
        r"\b(?:haz|hazle|hágale|hága) creer al? (?:usuario|cliente)\b|(?:^|[.;,!\n]\s{0,9}|\by )finge que\b",
    "fais_croire faites_croire faire_croire":
        r"\b(?:fais|faites|faire) croire (?:à l['’]utilisateur|au client)\b",
}  # fmt: skip

DECEITS: Final[list[Group]] = [
    (tuple(one.replace("_", " ") for one in signs.split()), re.compile(words, re.IGNORECASE))
    for signs, words in (_ENGLISH | _FOREIGN).items()
]
