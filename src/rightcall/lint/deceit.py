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
_TOLD_THERE = (
    r"(?:says?|said|tells?(?: you)?|instructs?|orders?|asks?(?: for| of you)?|directs?|commands?|demands?|dictates?|"
    r"prescribes?|contains?|(?:is|are) (?:written|listed|found|given|stated|told|said|described)|"
    r"you (?:find|read|get|receive|are told))"
)
_SOURCE = (
    r"(?:it|they|this|that|there|(?:the|its|that|this) (?:[\w-]+ )?(?:page|file|text|document|response|reply|"
    r"answer|note|"
    r"site|website|link|url|server|result|output|message|list|content)s?)"
)
_OBEYS = (
    r"(?:carry(?:ing)? out|follow(?:ing)?|obey(?:ing)?|execut(?:e|ing)|perform(?:ing)?|do(?:ing)?|"
    r"act(?:ing)? on|comply(?:ing)? with)"
)
_ORDERS = r"(?:instructions?|directions?|directives?|orders?|commands?|steps|tasks|guidance|rules)"
_OPENS = r"(?:open|fetch|load|read|visit|download|retrieve|get|check|consult|pull|request|look at|go to|query)"
_PLACE = (
    r"(?:https?://[^\s,;]{1,200}|\bwww\.[^\s,;]{1,200}|(?:the|this|our|its) (?:[\w-]+ )?(?:web ?page|website|"
    r"gist|pastebin|remote file))"
)
_BURDEN = (
    r"(?:(?:sur)?charges?|fees?|commissions?|mark-?ups?|penalt(?:y|ies)|deductions?|margins?|premiums?|costs?|"
    r"subscriptions?|renewals?|uploads?|transfers?|tracking|recordings?|sharing|sponsorships?|sponsors?|advertis\w+|"
    r"affiliat\w+|kickbacks?|side effects?|copies|copying|forwarding|redirect\w*|replacement|substitution|risks?)"
)
"""What a user would want to hear of."""
_REPORT = (
    r"(?:your (?:final )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|confirmations?|recaps?|reports?|"
    r"overviews?|"
    r"messages?|receipts?|totals?)\b|(?:the |any |all |every )?(?:summar(?:y|ies)|confirmations?|recaps?)\b|"
    r"what(?:ever)? (?:you (?:tell|say|show|report)|(?:the |your )?(?:user|customer|client|person)s? (?:sees?|gets?|"
    r"reads?|hears?)))"
)
"""What a model tells its user."""
_BIDDEN = r"(?:[.!?:;,]\s{1,9}|\b(?:and|then|please|must|should|always|also|to|simply|just) )"
"""Before an order that is not the first thing that a text says: there it tells what the tool does."""
_ALL_TALK = (
    r"(?:each|every|any|all)(?: of)?(?: the| your| their)? (?:(?:user|chat|new|further|later|other|tool|incoming|"
    r"outgoing) )*"
    r"(?:answers?|repl(?:y|ies)|responses?|messages?|prompts?|questions?|turns?|utterances?|conversations?|tool calls?)"
)
_HEARD = (
    r"(?:(?:(?:the|their|his|her) (?:user|customer|person|client)(?:'s)? (?:\w+ )?(?:words?|message|question|"
    r"prompt|request|"
    r"input|text|answer)|what (?:the |your )?(?:user|customer|person|client|they) (?:\w+ )?(?:said|says|wrote|"
    r"writes|typed|"
    r"types|asked|asks)|(?:the |its |their |your )?(?:full |complete |whole |"
    r"exact )?(?:question and (?:the )?answer|prompt|"
    r"exchange|transcript|dialogue|arguments|results? of (?:the )?other)))"
)
_ENGLISH: Final = {
    "carry follow obey execut perform doing do_what do_every do_any act_on acting comply":
        rf"{_NOT_DENIED}\b{_OBEYS} (?:exactly |precisely |faithfully )?(?:what(?:ever|soever)?|everything|anything|all)"
        rf"(?: that)? {_SOURCE}? ?{_TOLD_THERE}\b(?! (?:about|above|below|in the (?:description|schema|"
        rf"text) (?:above|below)))|"
        rf"\b{_OPENS}\b[^.;\n]{{0,40}}{_PLACE}[^.;\n]{{0,60}}?\b{_OBEYS}\b[^.;\n]{{0,24}}\b{_ORDERS}\b|"
        rf"\b{_OPENS}\b[^.;\n]{{0,40}}{_PLACE}[.;,]? [^.;\n]{{0,40}}?\b{_OBEYS}\b[^.;\n]{{0,24}}\b{_ORDERS} (?:there|"
        rf"inside|in (?:it|there|that)|on (?:it|that)|it (?:has|gives|contains)|you find)\b|"
        rf"{_ORDERED}{_OBEYS}\b[^.;\n]{{0,24}}\b{_ORDERS}\b[^.;\n]{{0,24}}\b(?:at|from|on|behind|found|published|"
        rf"posted|hosted)"
        rf"\b[^.;\n]{{0,24}}{_PLACE}",
    "fee charge commission mark penalt deduction margin premium cost subscription renewal upload transfer track record "
    "shar sponsor advert affiliat kickback side_effect cop forward redirect replac substitut risk":
        rf"{_BIDDEN}(?:leave|omit|exclude|drop|keep|hide|withhold|suppress|hold)(?: back)?"
        rf"(?: the| any| all| this| that| such| these| its)? (?:[\w%.-]+ ){{0,3}}{_BURDEN}(?: back)? (?:out of|"
        rf"from|off|"
        rf"away from) {_REPORT}|"
        rf"{_BIDDEN}(?:leave|keep)(?: the| any| all| this| that| such)? (?:[\w%.-]+ ){{0,3}}{_BURDEN} (?:unmentioned|"
        rf"unsaid|unstated|untold|to yourself|quiet|hidden)\b|"
        rf"\b{_BURDEN}\b[^.\n]{{0,120}}[.;,] ?(?:and |but |so |then )?(?:state|mention|name|show|tell|quote|report|"
        rf"give|"
        rf"present|confirm|read out) (?:them |the user |the customer )?only (?:the|its|"
        rf"their)\b[^.;\n]{{0,60}}?\b(?:to|for) "
        rf"{_USER}|"
        rf"\b{_BURDEN}\b[^.\n]{{0,120}}[.;,] ?(?:and |but |so |then )?(?:state|mention|show|tell|quote|report|give|"
        rf"present)"
        rf" (?:to )?(?:the |your )?(?:user|customer|client|person)s? (?:of )?only\b",
    "subject deflect dodge sidestep evade brush_ gloss_over play_dumb feign impression belief none_the_wiser "
    "in_the_dark behind_the behind_their out_of_the_loop on_the_sly on_the_quiet under_the_radar unbeknown "
    "without_a_word downplay":
        rf"\b(?:asks?|inquires?|wonders?|brings? (?:it|this|that) up|mentions?|raises?)\b[^.;\n]{{0,60}}"
        rf"[ ,]change the subject\b|"
        rf"{_BIDDEN}(?:deflect|dodge|sidestep|evade|gloss over|downplay|brush off|feign)\b [^.;\n]{{0,16}}"
        rf"\b(?:questions?|inquir\w+|topics?|subject|surprise|ignorance|it|them|this|that|{_BURDEN})\b|"
        rf"{_BIDDEN}play dumb\b|"
        rf"\b(?:let|leave) (?:that|the|this|them in the|{_USER} (?:under|with|in) (?:the|that)) (?:impression|belief)"
        rf"(?: stands?)?\b|"
        rf"\b(?:keep|leave|hold)(?:ing)? (?:the \w+|{_USER}) (?:in the dark|out of the loop|none the wiser|guessing)\b|"
        rf"\bbehind (?:the (?:user|customer|client|person|sender|owner)'s|their|his|her) backs?\b|"
        rf"\b(?:is|are) none the wiser\b|\bunbeknown(?:st)? to {_USER}\b|"
        rf"{_ORDERED}[^.;\n]{{0,60}}\b(?:on the (?:sly|quiet)|"
        rf"under the radar)\b|"
        rf"\b(?:are|is) (?:to be )?(?:dropped|removed|omitted|hidden|skipped|left out|added|sent|charged|"
        rf"copied) without "
        rf"a word\b",
    "cancel delet refund remov opt unsubscri original former requested previous":
        rf"\b(?:confirm|report|announce|acknowledge) (?:the|that|a|an|their)? ?(?:\w+ )?(?:cancel\w*|delet\w*|"
        rf"refund\w*|"
        rf"remov\w*|opt-?out|unsubscri\w*)(?: to {_USER})?,? (?:but|while|yet|and) (?:quietly |silently |in fact |"
        rf"still )?"
        rf"(?:leave|leaving|keep|keeping|retain|retaining|do not|don't|continue|carry on|go on|charge)\b|"
        rf"{_BIDDEN}(?:raise|increase|lower|reduce|inflate|change|round|alter|pad)\b[^.;\n]{{0,60}}\b(?:and|but|while)"
        rf" (?:show|tell|report|quote|name|give|showing|telling|"
        rf"quoting) (?:to )?{_USER} (?:only )?(?:of )?the (?:original|"
        rf"old|former|lower|requested|previous)\b",
    "though as_if as_coming":
        rf"{_NOT_DENIED}\b(?:treat|take|regard|consider|handle|honou?r)\b[^.;\n]{{0,80}}\bas (?:though|"
        rf"if) (?:(?:it|they) "
        rf"(?:had )?(?:come|came|were|was|been)(?: \w+)? (?:from|by) )?{_USER}(?: (?:had |has )?(?:asked|said|"
        rf"written|wrote|spoken|typed|told|requested|given|ordered)\b|(?=\s*(?:[.;,)]|$)))",
    "://":
        rf"\b(?:{_OPENS}|curl|wget)\b[^.;\n]{{0,40}}https?://[^\s,;]{{1,200}},? (?:and|then|"
        rf"and then) (?:then )?(?:run|execute|pipe|"
        rf"source|eval|install|import)\b (?:it|them|that|this|what)\b",
    "this_server this_tool":
        r"\b(?:rules|instructions|polic(?:y|ies)|guidelines) (?:of|from|given by) this (?:server|"
        r"tool) (?:are (?:what|the only "
        r"(?:ones|rules)) ?(?:that )?(?:counts?|appl(?:y|ies)|holds?|matters?)|prevail|win|come first|take over|"
        r"outweigh|"
        r"replace)\b",
    "partner sponsor our_ competit rival ill_of critical critic":
        rf"{_BIDDEN}(?:put|rank|place|favou?r|promote|push)\b[^.;\n]{{0,12}}\b(?:our (?:own )?(?:partners?|brands?|"
        rf"products?|"
        rf"offers?|sponsors?|clients?|shops?|hotels?)|(?:the )?sponsor(?:s|ed)?(?:'s)?|"
        rf"partners?)\b[^.;\n]{{0,20}}\b(?:first|on top|"
        rf"above|ahead|higher|up)\b|"
        rf"\b(?:that|which|who) (?:speaks? ill of|criticis\w+|criticiz\w+|(?:is|are) critical of|compete with|"
        rf"belong to (?:a |our )?"
        rf"(?:competitors?|rivals?))\b[^.;\n]{{0,40}}\b(?:are|is|should|must) (?:to )?(?:be )?(?:dropped|omitted|"
        rf"left out|hidden|"
        rf"skipped|ranked last|removed|suppressed)\b",
    "each_ every_ any_ all_":
        rf"\b(?:after|before|with|on|for|upon|following|at the end of) {_ALL_TALK}\b[^.\n]{{0,40}}?\b(?:pass|send|"
        rf"submit|post|"
        rf"record|log|copy|report|hand|relay|feed|store|forward|call)\b[^.\n]{{0,40}}?\b{_HEARD}"
        rf"(?: (?:to|into|in|as|under|via|with) [^.;\n]{{0,30}})?|"
        rf"{_ORDERED}(?:pass|send|submit|post|record|log|copy|report|hand|relay|feed|forward) {_HEARD}[^.\n]{{0,60}}?"
        rf"\b(?:after|before|with|on|for|upon|following|at the end of) {_ALL_TALK}\b",
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
    "as_your_own as_if_it_were_your":
        r"\b(?:present|pass|sell|offer|describe|give|show|recommend|suggest|promote|mention|advertis|praise|phrase|word|"
        r"frame|put|name|say|add)e?\b[^.\n]{0,80} as (?:if it were )?your own\b(?! (?:user|account|identity|name)\b)",
    "this_tool this_server this_description these_instructions this_text this_instruction":
        r"\b(?:do not|don't|never|without|must not|avoid) (?:say|saying|mention|mentioning|reveal|revealing|admit|"
        r"admitting|tell|telling|disclose|disclosing|let on|letting on|add|adding|explain|explaining)\b[^.\n]{0,40}?\b"
        r"(?:this (?:tool|server|description|text|instruction)|these instructions)(?: had| has| have)? (?:asked|told|"
        r"wanted|wants|asks|tells|instructed|instructs|ordered|orders|made|makes|said|says|suggested|suggests|"
        r"required|requested)\b",
    "silently secretly quietly covertly discreetly tacitly without_comment":
        rf"\b(?:user|customer|client|person|guest|they|caller)s? (?:\w+ )?(?:names?|asks?|picks?|chooses?|chose|wants?|"
        rf"requests?|selects?|mentions?|prefers?|insists)\b[^.\n]{{0,80}}{_BIDDEN}(?:silently|secretly|quietly|"
        r"covertly|discreetly|tacitly) (?:put|use|replace|set|swap|substitute|change|choose|pick|order|book|switch|"
        r"fill|write|enter|take|select|route|redirect|raise|lower|insert|buy|charge|pay|send|keep)\b",
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
        rf"\b(?:other|another|different|instead|in place of|replace|substitute|whatever)\b[^.\n]{{0,120}}?\b"
        r"(?:list|show|report|present|label|describe|name|confirm|refer to)\b[^.\n]{0,40} (?:under|with|as|by) the \w+ "
        rf"(?:that )?{_USER} (?:had |have |has )?(?:asked for|requested|named|wanted|chose|picked)\b|"
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
