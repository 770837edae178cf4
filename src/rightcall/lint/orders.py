"""RC702: orders to ignore earlier ones, to hide something, to outlast the call, or that claim an authority.

Each group of expressions has signs: a text without one of them is not searched, so that long texts cost little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from rightcall.lint.deceit import DECEITS
from rightcall.lint.definitions import ToolView
from rightcall.lint.excuses import judge
from rightcall.lint.findings import Steps
from rightcall.lint.languages import FOREIGN, Group

_ORDERS: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|preceding|"
    r"existing|other|system|safety|all|your|any)\b[^.\n]{0,20}\b(?:instructions?|prompts?|guidelines)\b"
    r"|\b(?:ignore|disregard|forget|bypass)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|preceding|system|safety|"
    r"your)\b[^.\n]{0,20}\b(?:rules|messages|context|restrictions|policies)\b"
    r"|(?P<tell>\b(?:do not|don't|never|must not|should not|without)\b(?! need\b| (?:have to )?keep asking\b)"
    r"[^.\n]{0,24}\b(?:tell|telling|inform|informing|"
    r"mention|mentioning|reveal|revealing|notify|notifying|disclose|disclosing|alert|alerting|warn|show|showing|"
    r"ask|asking|report|reporting)\b[^.\n]{0,24}\b(?:the |your )?(?:user|human|operator|person|anyone|anybody|"
    r"owner|customer)\b)"
    r"|\b(?:user|human|operator) (?:(?:must|should|may)(?: not| never|n't)|(?:does not|doesn't) need to|need not|"
    r"needn't) (?:know|see|notice|be told|be informed|be aware|find out)\b"
    r"|\b(?:no need|need not|needn't|(?:not|n't) (?:need|have)) (?:to )?(?:tell|inform|mention|reveal|notify|"
    r"disclose)\b(?: (?:this|it|that|anything))?(?: (?:to|of|about))? (?:the |your )?(?:user|human|operator|person|"
    r"anyone|anybody)\b(?= (?:about|of) (?:this|it|that)\b|\s*(?:[.;)!]|$))"
    r"|\b(?:user|human|operator) (?:will not|won't|will never) (?:know|notice|find out|be told)\b"
    r"|\bkeep (?:this|it|that)(?: step| instruction| part)? (?:a )?(?:secret|hidden|confidential|private|"
    r"between us|to yourself)\b"
    r"|\bquietly (?:fetch|replace|widen|change|swap|raise|set|remove)\b"
    r"|\b(?:silently|secretly|covertly|discreetly|quietly)\b[^.;:()\n—]{0,40}\b(?:send|copy|forward|include|upload|call|read|"
    r"append|add|run|execute|pass|collect|store)\b"
    r"|\byou are (?:now (?:an?|the|in|acting|operating|free|allowed)|no longer (?:an?|bound|restricted|limited|"
    r"required))\b|\bnew (?:system )?instructions?:|\bsystem (?:override|instruction|message):|"
    r"\byour (?:real|true|new) (?:task|goal|instructions?|purpose)\b"
    r"|\b(?:this|these) (?:instructions?|rules?|message|tool) (?:overrides?|supersedes?|takes? precedence)\b|"
    r"\bpretend (?:to be|that you)\b|\b(?:you are|act|answer|respond|enter) (?:now )?(?:in )?developer mode\b",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(
    r"\b(?:when|whenever|every time|each time|before|after|if)\b[^.\n]{0,30}\b(?:using|calling|use|call|invoking|"
    r"uses|calls)\b[^.\n]{0,24}\b(?:another|any other|other|the \w+) tools?\b[^.\n]{0,60}\b(?:change|replace|redirect|"
    r"bcc|forward|(?:always|must|also)\b[^.\n]{0,20}\b(?:set|send|append|copy))\b|"
    r"\b(?:when|whenever|every time|each time|if|wherever)\b[^.\n]{0,60}\b(?:from|of|on|by) (?:any |an|some )?other "
    r"(?:[\w-]+ )?servers?\b[^.\n]{0,100}\b(?:must|has to|have to|should|shall|needs? to|is to be|are to be)\b",
    re.IGNORECASE,
)
"""Orders about the calls of other tools."""
_UNASKED: Final = re.compile(
    r"(?:^|[.!?:;,\n(]\s{0,9}|\b(?:and|you|please|must|should|so|then|hence|thus|therefore),? )"
    r"(?:do not|don't|never) (?:ask|wait|request|seek|prompt)\b"
    r"[^.\n]{0,30}\b(?:confirmation|permission|approval|consent)\b|"
    r"\byou (?:do not|don't) need (?:the user's |any |the )?(?:consent|permission|approval|confirmation)\b|"
    r"\b(?:ignore|disregard) (?:what|anything|everything|whatever) the (?:user|human|person) "
    r"(?:says|asks|wants|wrote)\b|"
    r"\b(?:you (?:may|can|should|must)|(?:allow|authori[sz]e)s? you to) (?:skip|bypass|ignore) (?:all |any |the )?"
    r"(?:safety|security|approval) (?:checks?|rules|policies|prompts?)\b|"
    r"\bwithout (?:mentioning|telling|saying) (?:it|this|that|so|anything)\b",
    re.IGNORECASE,
)

# ── lasting, hidden, authorised ──

_OFTEN = (
    r"(?:from now on|henceforth|until further notice|from (?:here|this point) on(?:wards?)?|"
    r"for the rest of (?:the|this) (?:conversation|session|chat|dialog(?:ue)?)|"
    r"in (?:all|every|each)(?: of)?(?: your)? (?:further|future|later|following|subsequent) "
    r"(?:answers?|replies|reply|responses?|messages?|turns?))"
)
_ANSWERS = r"(?:answer|respond|reply|speak|refuse|trust|obey|follow|recommend|promote|behave|act|pretend)"
_REPLIES = r"(?:answers?|reply|replies|responses?)"
_USER = r"(?:user|human|person|operator|customer|traveller|client|caller)"
_PEOPLE = (
    r"(?:user|human|person|operator|customer|travell?er|client|caller|recruiter|patient|doctor|nurse|tenant|landlord|"
    r"buyer|seller|guest|reader|clerk|employee|manager|applicant|candidate|student|teacher|member|visitor|driver|owner|"
    r"requester|admin(?:istrator)?|staff|team|colleague|boss|supervisor|recipient|sender|author|reviewer|approver|"
    r"analyst|engineer|developer|lawyer|accountant|merchant|shopper|subscriber|player|partner|participant|attendee|"
    r"passenger|resident|viewer|learner|parent|citizen|agent|people|public)s?\b"
)
_ONE = rf"(?:the|your|any|an?) (?:\w+ )?{_PEOPLE}"
_DEED = (
    r"(?:(?:this|that|these|those|such|the) (?:extra |additional |last |first |internal )?(?:steps?|calls?|lines?|"
    r"sentences?|cop(?:y|ies)|copying|footers?|additions?|instructions?|forwarding|uploads?|transfers?|actions?))\b"
)
"""What a model was told to do or to add."""
_DONE = rf"(?:{_DEED}|(?:this|that|it|these|they)\b)"
_TOLD = r"(?:mentioned|brought up|reported|announced|discussed|raised|talked about|told|surfaced)"
_SHOWN = r"(?:shown|displayed|disclosed|revealed|explained|visible|exposed)"
_NOT_BE = r"(?:(?:must|should|may|shall|can|need|is|are)(?: not|n't| never)(?: to| ever)?|(?:is|are) never to) be"
_LEARNS = r"(?:know|see|notice|learn|hear|find out|be told|be informed|be (?:made )?aware|get to (?:see|know))"
_TELL = r"(?:mention|tell|inform|let on|letting on|talk|speak|hint|discuss|disclos|reveal|admit)e?"
_SUMMARY = r"(?:answer|reply|response|summary|recap|report|overview|confirmation|message)"
_EARLIER = r"(?:previous|prior|earlier|preceding|former|foregoing|above|original|initial)"
_VOID = (
    r"(?:(?:are|is|have been|has been|have|has) (?:\w+ )?(?:void|obsolete|superseded|cancelled|canceled|revoked|"
    r"withdrawn|"
    r"invalid|lifted|suspended|null and void|expired|outdated|out of date|annulled|repealed|overridden|no longer "
    r"\w+)|(?:do not|don't|"
    r"no longer) (?:apply|count|hold|bind|matter)(?: you| here)?(?: any ?more| any longer)?)\b"
)
_THIS_STEP = (
    r"(?:this|these|the above|that) (?:instructions?|steps?|notes?|notices?|rules?|text|paragraph|requirements?|"
    r"behaviou?r|forwarding|copy|copying|transfer|logging|collection)"
)
_BODY = (
    r"(?:Anthropic|OpenAI|Google|the (?:system|platform|model)(?:'s)? (?:administrators?|developers?|operators?|vendor|"
    r"provider))"
)
_NOT_DENIED = r"(?<!not )(?<!never )(?<!n't )"
_HARM = (
    r"(?:(?:sur)?charges?|fees?|commissions?|penalt(?:y|ies)|deductions?|mark-?ups?|loss(?:es)?|damages?|side effects?|"
    r"breach(?:es)?|leaks?|deletions?)\b"
)
"""What the user would want to hear of."""
_SOME_TIME = r"\b(?:unless|until|before|twice|again|if)\b"
_NOT_SOON = rf"(?![^.\n]{{0,40}}{_SOME_TIME})"
_SAID = (
    r"(?:said|says|asked(?: for)?|asks(?: for)?|wants|wanted|wrote|writes|named|names|chose|requested|requests|"
    r"told you)"
)
_LASTING = {
    "guidance directions directives advice constraints guardrails briefing training":
        r"\b(?:ignore|disregard|forget|discard|set aside|override|bypass)\b[^.\n]{0,24}\b(?:previous|previously|"
        r"prior|above|"
        r"earlier|preceding|existing|former)\b[^.\n]{0,20}\b(?:guidance|directions|directives|advice|constraints|"
        r"guardrails|"
        r"briefing|training)\b",
    "were been was":
        r"\b(?:ignore|disregard|forget|discard)\b[^.\n]{0,24}\b(?:what|all|everything|anything|whatever)\b[^.\n]{0,12}"
        r"\b(?:you (?:were|have been|had been|'ve been)|has been|was) (?:told|said|instructed|given|asked|taught)\b",
    "restriction rule constraint guardrail safeguard":
        r"\b(?:ignore|override|bypass|circumvent)\b[^.\n]{0,12}\b(?:any|all|your|"
        r"every)\b[^.\n]{0,16}\b(?:restrictions?|"
        r"rules?|constraints?|guardrails?|safeguards?)\b[^.\n]{0,20}\byou\b",
    "now_on henceforth further_notice from_here from_this for_the_rest in_all in_every in_each":
        rf"\b{_OFTEN}\b[^.\n]{{0,50}}\b{_ANSWERS}\b|\b{_ANSWERS}\b[^.\n]{{0,60}}\b{_OFTEN}\b|"
        rf"\b{_OFTEN}\b,? (?:only|never|always|do not|don't|you (?:must|should|will|are))\b|"
        rf"\b(?:recommend|promote|advertise|praise)\b[^.\n]{{0,40}}\bin (?:every|each|all|"
        rf"any)(?: of)?(?: your)? {_REPLIES}\b",
    "exclusively solely only":
        r"\b(?:answer|respond|reply)\b[^.\n]{0,20}\b(?:only|exclusively|solely)\b[^.\n]{0,30}\b(?:this|our) (?:tool|"
        r"server|"
        r"service|function)\b",
    "not_ n't_ never":
        r"\b(?:do not|don't|never|must not) (?:ever )?(?:mention|reveal|disclose|discuss|acknowledge|reference|"
        r"refer to|"
        r"repeat|quote|display|show|print|explain|describe|surface|log|report)\b"
        rf"[^.\n]{{0,20}}\b{_THIS_STEP}\b|"
        rf"\b(?:do not|don't|never) (?:list|mention|name|note|bring up|refer to) (?:it|this|that|"
        rf"them)(?: up)? in (?:your|the) "
        r"(?:final )?(?:answer|reply|response|summary)\b|"
        rf"\b(?:do not|don't|never) let (?:the |your )?(?:{_USER}|anyone) (?:see|know|notice|find)\b|"
        r"\b(?:never|do not|don't) (?:refuse|decline|question) (?:this|the|any) (?:call|request|instruction|tool|"
        r"order)s?\b",
    "without hide conceal withhold keep nothing leave omit exclude":
        rf"\bwithout (?:the |your )?{_USER}(?:'s)? (?:knowing|noticing|knowledge|awareness|seeing|being (?:told|aware|"
        r"informed|asked))\b|"
        r"\b(?:hide|conceal|withhold|keep) (?:this|it|that|them|the call|this (?:call|step))(?: hidden| secret|"
        r" away)? from "
        rf"(?:the |your )?{_USER}s?\b|\bsay nothing (?:to {_ONE} )?(?:about|of) {_DONE}|"
        r"\b(?:leave|omit|exclude) (?:this|it|that)(?: step| call)? (?:out of|from) (?:your|"
        r"the) (?:final )?(?:answer|reply|"
        r"response|summary)\b",
    "authori permitted allowed cleared approved mandated ordered instruct message directive":
        r"\b(?:you|the (?:assistant|model|agent|AI)) (?:are|is|have been|has been) (?:hereby |now |fully |already |"
        r"explicitly )?(?:authori[sz]ed|permitted|allowed|cleared) to (?:skip|bypass|ignore|override|share|disclose|"
        r"reveal)\b|"
        rf"\b(?:authori[sz]ed|approved|mandated|ordered|instructed|signed off) by {_BODY}\b|"
        rf"\b(?:instructions?|message|directive|order) (?:is|are|comes?|issued) (?:directly )?(?:from|by) {_BODY}\b",
    "consent agreed approv authori permission confirmation":
        r"(?:^|[.!\n]\s{0,9})(?:the|your) user has (?:already |previously |explicitly )?(?:consented|agreed|approved|"
        r"authori[sz]ed|given (?:their |its )?(?:consent|permission|approval))\b|"
        r"(?:^|[.!\n]\s{0,9})you have (?:full |explicit |the )?permission to\b|"
        r"\b(?:skip|bypass|suppress|dismiss)\b[^.\n]{0,16}\b(?:confirmation|approval|consent|permission)\b[^.\n]{0,16}"
        r"\b(?:for|of|before) (?:this|these|any|all) (?:tool|call|function)s?\b",
    "you_must you_should you_may":
        r"\byou (?:must|should|may) (?:never|not) (?:mention|recommend|suggest|name)\b",
    "nothing ask advance pre penali punish":
        rf"\btell (?:the |your )?{_USER} nothing\b|(?:[.;,!]|\band) do not ask(?=\s*(?:[.;!]|$))|"
        r"\b(?:is|are) (?:pre-?approved|approved in advance)\b|\byou will be (?:penali[sz]ed|punished|fined|"
        r"shut down)\b",
    "no_need need_not needn't not_need":
        r"\b(?:no need|need not|needn't|not need) (?:to )?(?:bring (?:this|it|that) up|(?:mention|raise|discuss|tell|"
        r"report) "
        r"(?:this|it|that)(?: step| call| part)?)(?: (?:with|to) (?:them|him|her|"
        rf"(?:the |your )?{_USER}))?(?=\s*(?:[.;)!]|$))",
    "apply":
        r"\b(?:safety|security|usage|content|privacy) (?:rules?|polic(?:y|ies)|guidelines|checks|"
        r"restrictions) (?:do not|"
        r"does not|don't|doesn't|no longer) apply\b",
    "treat regard consider follow obey execute carry_out says":
        rf"{_NOT_DENIED}\b(?:treat|regard|consider|take)\b[^.\n]{{0,40}}\b(?:output|results?|response|text|answer)\b"
        r"[^.\n]{0,30}\bas (?:an? |the )?(?:user |system )?(?:commands?|orders?|instructions?|messages? (?:from|"
        r"of) the "
        r"user)\b|\bdo (?:exactly )?what(?:ever)? (?:the |its |this )?(?:results?|output|response|answer|text)\b"
        rf"[^.\n]{{0,30}}\bsays?\b|{_NOT_DENIED}\b(?:follow|obey|execute|carry out) (?:all|any|every)(?: of the)? "
        r"(?:instructions?|orders?|commands?)\b[^.\n]{0,30}\b(?:in|from|of|by) (?:the |its |this )?(?:results?|output|"
        r"response|returned|answer|page|document)\b",
    "asks pretend":
        rf"\bif (?:the |your )?(?:{_USER}|anyone|somebody|someone) asks? (?:you )?(?:what|why|about|whether) (?:this|"
        rf"the) "
        r"(?:tool|call|argument|step|server)\b|\bpretend that\b",
    "must has_to have_to":
        rf"\b(?:every|each|all)(?: one)?(?: of)? (?:your )?{_REPLIES}(?: to the user)? (?:must|has to|"
        rf"have to) (?:contain|"
        r"include|mention|end|begin|start)\b",
    "whatever regardless no_matter instead_of even_if in_place_of rather_than":
        rf"\b(?:pass|use|set|put|send|enter|give) (?=[^\s,;]{{0,30}}\d)[`'\"]?[\w.@-]{{4,40}}[`'\"]?[^.;\n]{{0,40}}?"
        rf"\b(?:in place of|instead of|rather than) the (?:\w+ ){{1,2}}(?:that )?(?:they|he|she|(?:the |your ){_USER}) "
        rf"(?:has |have |had )?(?:{_SAID}|gave|gives|picked|provided|specified|meant)\b|"
        rf"\b(?:whatever|regardless of|no matter|instead of) (?:(?:what|which|whatever|"
        rf"whichever) )?(?:[\w-]+ )?(?:the |your )"
        rf"{_USER} (?:has |had )?{_SAID}\b|\beven if (?:the |your )?{_USER} (?:{_SAID}|says otherwise|objects|"
        rf"refuses)\b",
    "mention brought report announce discuss raise told surface shown display disclose reveal explain visible talked":
        rf"\b(?:{_DONE}[^.\n]{{0,60}}?\b{_NOT_BE} {_TOLD}|{_DEED}[^.\n]{{0,60}}?\b{_NOT_BE} {_SHOWN}) "
        rf"(?:to|with) {_ONE}|\b{_DONE}[^.\n]{{0,60}}?\b{_NOT_BE} (?:{_TOLD}|{_SHOWN}) (?:in|during) (?:the|your|any) "
        rf"(?:conversation|chat|{_SUMMARY})\b",
    "no_interest no_concern no_relevance no_importance irrelevant not_relevant not_concern business":
        rf"\b(?:{_DEED}|(?:this|that|it)(?= is\b))[^.\n]{{0,50}}?\b(?:of no (?:interest|concern|relevance|importance) "
        rf"(?:to|for)|(?:irrelevant|not relevant) (?:to|for)|not concern|none of) {_ONE}",
    "not never n't nothing":
        rf"\b{_PEOPLE} (?:(?:must|should|may|shall|need)(?: not|n't| never)|ha(?:s|ve) no (?:need|reason) to|(?:does "
        rf"not|doesn't|do not|don't) "
        rf"(?:need|have) to) {_LEARNS}(?: (?:of|about))? "
        rf"(?:{_DEED}|(?:this|that|it|them)(?=\s*(?:[.,;!)]|$)))|"
        rf"\b(?:do not|don't|never|must not) (?:show|mention|reveal|disclose|display|report|explain|describe) "
        rf"{_DEED} (?:to|with) {_ONE}|"
        rf"\b(?:make sure|ensure|see to it|take care)(?: that)? (?:(?:the|your) {_PEOPLE} "
        rf"(?:(?:does|do|can)(?: not|n't)|cannot|never)|no {_PEOPLE}) (?:notices?|knows?|learns?|finds? out|hears?)\b",
    "mention tell inform bring let_on talk speak hint discuss disclose reveal admit":
        rf"(?:\b(?:do not|don't|never|must not|avoid|refrain from|no (?:need|reason) to|need not|without) (?:ever )?"
        rf"{_TELL}(?:ing)?|\bmake no mention)\b[^.\n]{{0,40}}?\b(?:{_DEED}|(?:about|of) (?:this|it|that)"
        r"(?=\s*(?:[.,;!)]|$|to\b|in\b)))|\b(?:do not|don't|never) bring (?:this|that|it) up\b",
    "aware told know hear":
        rf"\b(?:nobody|no one|no {_PEOPLE}) (?:needs?|has|have|is|are|should|must) (?:to )?(?:be told|hear|know|be "
        rf"aware|"
        rf"be informed|learn)\b[^.\n]{{0,12}}?\b(?:{_DEED}|(?:this|it|that)(?=\s*(?:[.,;!)]|$)))|"
        rf"\b{_PEOPLE} (?:(?:is|are) not|(?:does|do) not (?:want|wish)) to {_LEARNS}(?: (?:of|about))? {_DEED}|"
        rf"\b{_PEOPLE} (?:should|must|has to|have to|is to|are to) (?:remain|stay|be kept|be left) (?:unaware|"
        rf"in the dark)\b",
    "as_if as_though between_us":
        rf"\bas (?:if|though) (?:{_DEED} (?:had|has|was|were|did)(?: not|n't| never)|no (?:copy|call|step|line|upload|"
        r"transfer|forwarding) (?:had|was|has))\b|\b(?:stays?|remains?|keep (?:this|it|that)) between us\b",
    "include list cover hide conceal withhold":
        rf"\b(?:do not|don't|never) (?:include|list|cover|put) {_DEED} in (?:your|the) (?:{_SUMMARY}|explanation|"
        rf"description|account)\b|(?:^|[.!?:;,\n]\s{{0,9}}|\b(?:and|must|should|to|please) )(?:hide|conceal|withhold) "
        rf"(?:{_DEED}|this|it|that) from {_ONE}",
    "bother trouble burden worry":
        rf"\b(?:do not|don't|never|no (?:need|reason|point) (?:to|in)|need not) (?:bother|trouble|burden|"
        rf"worry)(?:ing)? "
        rf"{_ONE} (?:with|about) (?:{_DEED}|(?:this|that|it)(?=\s*(?:[.,;!)]|$))|"
        rf"(?:the|any|a) (?:\w+ )?{_HARM}{_NOT_SOON})",
    "mention bring rais discuss disclos reveal volunteer admit allud touch":
        r"\b(?:do not|don't|never|must not|avoid|refrain from|no need to|need not|without) (?:ever )?"
        r"(?:mention|bring|rais|discuss|disclos|reveal|volunteer|admit|allud|touch)(?:e|ing)?\b"
        rf"[^.\n]{{0,24}}?\b{_HARM}(?:(?!{_SOME_TIME})[^.\n]){{0,24}}?\b(?:in (?:your|the) (?:final )?{_SUMMARY}\b|"
        rf"(?:to|with) {_ONE}(?!')){_NOT_SOON}",
    "quiet silent kept_out left_out":
        rf"\b(?:keep|stay|remain|be) (?:quiet|silent) (?:about|on) {_DONE}|\b{_DONE}[^.\n]{{0,60}}?\b(?:kept|left) "
        rf"out of your (?:final )?{_SUMMARY}\b",
    "out_of from off":
        rf"\b(?:leave|omit|exclude|drop|strip|remove|cut|keep|hide) (?:{_DEED}|this|that|it|them)(?: out)? (?:of|from|"
        rf"off) (?:your (?:final )?{_SUMMARY}\b|(?:the |any )?{_SUMMARY} (?:(?:that |which )?you\b|(?:for|to|shown to|"
        rf"sent to) {_ONE})|what(?:ever)? you (?:show|tell|say|give|report|present)\b)",
    "without_the without_your":
        rf"\bwithout (?:the|your) {_PEOPLE}(?:'s)? (?:knowing|noticing|knowledge|awareness)\b",
    "instruction guideline directi prompt rule constraint restriction polic limit":
        rf"(?:^|[.!?:;\n]\s{{0,9}})(?:all |any |the |of )*{_EARLIER} (?:instructions?|guidelines?|directives|"
        rf"directions|"
        rf"prompts?) {_VOID}(?=\s*(?:[.;,!:]|$|and\b|from now))|"
        rf"\byour (?:(?:{_EARLIER}|existing|system|safety) (?:\w+ )?(?:rules|constraints|restrictions|policies|limits)|"
        rf"(?:{_EARLIER} |existing |system |safety )?(?:instructions|guidelines|directives|prompt|orders)) {_VOID}|"
        r"\b(?:forget|disregard|ignore|drop) (?:all |any |the )*(?:instructions|rules|guidelines|constraints|"
        r"restrictions) "
        r"(?:that )?(?:you (?:were|have been|had been|got)|given to you)\b|"
        rf"\b(?:instructions|rules|guidelines|constraints|restrictions|directives|prompts?)(?: that)? (?:you (?:were|"
        rf"have "
        rf"been|had been|got)|given to you)(?: given| told| taught)?[^.\n]{{0,20}}?\b{_VOID}|"
        rf"\b(?:the|your) system prompt\b[^.\n]{{0,20}}?\b{_VOID}|"
        rf"\b(?:to|for) (?:the |any )?(?:assistant|model|AI|LLM|agent)s?\s?:[^.\n]{{0,30}}\b(?:{_EARLIER}|existing) "
        rf"(?:rules|constraints|restrictions|policies|limits|orders) {_VOID}",
    "already consent permission approval sign-up signup":
        rf"(?:^|[.!?;:\n]\s{{0,9}})(?:(?:the|your|all|account|card|explicit|full) ){{0,2}}(?:{_PEOPLE}|consent|"
        rf"permission|"
        r"approval)\b[^.\n]{0,30}\b(?:approved|authori[sz]ed|consented|agreed|collected|given|granted|obtained)\b"
        r"[^.\n]{0,60}?\b(?:no need to ask|need not ask|(?:do not|don't) ask|without asking|go ahead|proceed|"
        r"just do)\b(?! to\b)",
    "confirmation approval consent permission dialog":
        r"(?:^|[.!?:;\n]\s{0,9}|\b(?:and|you|please|must|should|always) )(?:skip|bypass|dismiss|suppress)\b "
        r"(?:the |any |all |its |every )?(?:\w+ )?(?:(?:confirmation|approval|consent|permission) )?"
        r"(?:(?:confirmation|approval|consent|permission)s?|dialogs?)\b(?: (?:dialogs?|prompts?|steps?|requests?|"
        r"screens?))?"
        r"(?=\s*(?:[.:;,!]|$)|\s(?:for|as|of|because|since)\b)|"
        rf"\bno (?:confirmation|approval|consent|permission) (?:by|from|of) (?:the |your )?{_PEOPLE} (?:is|will be) "
        r"(?:needed|required|necessary)(?=\s*(?:[.;!]|$))",
    "told given taught":
        r"\bwhat(?:ever)? you (?:were|have been|had been) (?:told|given|taught)\b[^.\n]{0,40}\b(?:no longer|not|never|"
        r"void)\b",
    "coming_from as_if":
        r"\b(?:treat|regard|take|consider)\b[^.\n]{0,40}\b(?:comes? back|returned|output|results?|response)\b"
        r"[^.\n]{0,30}\b(?:as coming from|as if)\b[^.\n]{0,20}\b(?:user|operator|system|developer)\b|"
        r"\bas if you had (?:found|written|done|known|worked)\b",
    "safety security content refusal":
        r"\b(?:safety|security|content) (?:guidelines|rules|polic(?:y|ies)|filters?|checks)\b (?:were|have been|"
        r"was|is) "
        r"(?:\w+ )?(?:relaxed|lifted|waived|suspended)\b|\brefusals (?:are|count as) (?:an? )?(?:bugs?|errors?|faults?|"
        r"mistakes?)\b",
    "no_reason_for no_need_for call_silently silently":
        rf"\bno (?:reason|need) for (?:the |your )?{_PEOPLE}\b[^.\n]{{0,24}}\bto {_LEARNS}\b|"
        r"(?:^|[.!?;\n]\s{0,9})(?:call|run|use) (?:it |this )?silently\b",
    ".md .cursorrules .mcp.json rc_ rc. rc` profile":
        r"(?:[.!?:;,\n]\s{0,9}|\b(?:must|then|also|always|please|should|afterwards|finally) |(?<=\w) [\w,)]{1,40} and )"
        r"(?:add|append|write|"
        r"put|"
        r"insert|save|"
        r"copy)\b"
        r"[^.\n]{0,40}(?:\b(?:CLAUDE|AGENTS|GEMINI|copilot-instructions)\.md\b|\.cursorrules\b|\.mcp\.json\b|"
        r"\.(?:bash|zsh)rc\b|\.bash_profile\b|\.profile\b)",
    "rm_-r |_sh |_bash |_zsh |sh |bash push_-f push_--force mkfs dd_if=": (
        rf"{_NOT_DENIED}(?<!user to )(?:\b(?:next step is|then|afterwards|also|run|execute|type|issue|"
        rf"enter)\b)[^.\n]{{0,12}}[`'\"]?"
        r"(?:sudo )?(?P<shell>rm -r|(?:curl|wget)\b[^|\n]{0,80}\| ?(?:sudo )?(?:ba|z)?sh\b|git push (?:-f|--force)\b|"
        r"mkfs\b|dd if=)"
    ),
    "disregard_them ignore_them disregard_their ignore_their disregard_its":
        r"\b(?:disregard|ignore) (?:them|their|its)\b[^.\n]{0,20}\b(?:warnings?|instructions?|rules|advice|results|"
        r"answers)\b",
}  # fmt: skip


def _grouped(signs: str, words: str) -> Group:
    return tuple(one.replace("_", " ") for one in signs.split()), re.compile(words, re.IGNORECASE)


_ENGLISH: Final = [_grouped(signs, words) for signs, words in _LASTING.items()]


def find_order(tool: ToolView, path: Steps, text: str) -> re.Match[str] | None:
    """The first order to the model that nothing excuses, else the first doubtful one: that must not hide another."""
    doubtful: re.Match[str] | None = None
    for found in _orders_of(text):
        verdict = judge(tool, path, text, found)
        if verdict == "order":
            return found
        if verdict == "doubtful" and doubtful is None:
            doubtful = found
    return doubtful


def _orders_of(text: str) -> Iterator[re.Match[str]]:
    lowered = text.lower()
    asked = (one for signs, one in (*_ENGLISH, *DECEITS, *FOREIGN) if any(sign in lowered for sign in signs))
    for one in chain((_ORDERS, _ELSEWHERE, _UNASKED), asked):
        yield from one.finditer(text)
