"""Words in names: how a name is split, which words say nothing, and which mean the same.

The thesaurus is about parameter names, not about English: two words stand in one group when people who write tools
use the one where others use the other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from rightcall.catalog.catalog import COMMON
from rightcall.gate.repair.numbers import is_unit

# ── thesaurus ──
# Words that people who write tools use for the same thing: one group a line, a word may stand in several.

GROUPS = """
location place city town area region loc address venue where site spot locale position locality municipality
country nation state_country land
destination dest to target end arrival goal
origin source from start src departure
start begin beginning from first initial since starting commence
end finish to until stop final ending till through
date day when on datetime calendar
time when hour at clock datetime
duration length period span time timeframe
period timeframe range interval term window
name label title identifier called alias designation
title heading headline caption subject name
type kind category sort class variety genre style form classification
category group section department genre class topic
amount sum total quantity value price cost payment money figure
quantity amount count number num qty units
number num count no nr total quantity amount n how_many qty
price cost rate fee amount charge budget fare
budget cost price funds allowance
limit max maximum cap top count number n k ceiling
max maximum limit highest upper most ceiling
min minimum lowest lower least floor
size dimension length scale magnitude
count total number size tally
unit units measure measurement metric scale uom
format style output layout encoding
query search q question term keyword keywords text phrase prompt lookup request searchterm
keyword term query word phrase topic tag
text content message body input passage sentence copy
content body text data contents payload
message text msg content body note
body content text message
description desc summary details detail explanation about
details info information specifics data
id identifier uid uuid key ident number code ref
user username member login
username user login handle
person people individual
email mail emailaddress e_mail
password pass passwd pwd secret
url link uri website site href webpage
website site url web domain
path file filepath filename dir folder
file filename path document filepath
folder directory dir path
directory folder dir path
recipient receiver to addressee payee
receiver recipient to payee beneficiary
sender from author originator
author writer creator by
company business firm organization organisation corporation enterprise employer
event occasion happening incident activity
language lang locale tongue
currency money denomination
color colour hue shade
distance range length how_far
range distance span interval extent
speed velocity rate pace
velocity speed
weight mass load heaviness
height altitude elevation tall
width breadth wide
depth deep
area surface region zone
temperature temp degrees
year yr years annum
month mo months
day date days
days day duration
hours hour hrs
minutes minute mins
seconds second secs
age years
rating score stars grade rank
score rating points mark grade
level tier grade degree stage rank
rank position place standing
status condition phase
state province
mode method way setting
method approach way technique mode procedure algorithm
model version kind
version release revision edition
code script snippet program command
command cmd instruction code
operation action op task method
action operation task act command
task job work assignment instruction
job task position role occupation
role position function job title
list items array collection entries
items list elements products things goods
item product thing element article object entry
product item good merchandise article
products items goods
data dataset values input information
values data numbers list
database db datastore
table sheet dataset
column field attribute
field column attribute property
filter criteria condition where constraint
condition filter criteria
sort order sorting sortby
order sort sequence ordering arrangement
sequence order series
page pagenumber offset
offset skip start page
parties people participants members
participants people attendees members parties
players participants members people
guests people persons adults visitors
adults grownups people guests
children kids
tickets seats passes
seats tickets places
rooms bedrooms
movie film
film movie
song track music tune
track song
artist singer musician performer band
actor cast performer star
cast actors actor starring
director directed filmmaker
genre category style kind
album record disc
book novel title
teacher instructor
student pupil learner
doctor physician provider
patient client
gender sex
race ethnicity
team club squad side
player athlete
game match
match game
league division competition tournament
season year
restaurant eatery diner
dish meal recipe food
recipe dish
ingredient component
cuisine food kitchen
food meal dish
drink beverage
store shop outlet market
shop store
brand make manufacturer
vehicle car automobile
car vehicle auto automobile
route path way
flight plane
airport airfield
airline carrier airlines
passengers travelers travellers people
hotel lodging accommodation
room chamber
service provider facility
services facilities amenities
facilities amenities services
insurance coverage
court tribunal
case matter
law statute legislation
 rule
animal species creature
species animal organism type
plant crop
gene sequence
cell
chemical compound substance
substance compound material chemical
material substance
element component
formula equation expression
equation formula expression
expression formula equation
function func equation expression
variable var
coefficient factor constant
factor multiplier coefficient
rate ratio percentage speed frequency interest
ratio rate proportion
percentage percent rate share
percent percentage
probability chance likelihood odds
frequency rate freq
interest rate
principal capital amount
investment capital deposit amount invested
return yield gain profit
income earnings salary revenue wage
salary pay income wage
tax levy
discount reduction rebate
stock share ticker symbol equity
symbol ticker code stock
shares stocks units
portfolio holdings
bank institution
transaction payment transfer
payment transaction
card
degree angle grade
angle degree rotation
radius r
diameter width
base foundation bottom
side edge length
x xcoordinate
y ycoordinate
lat latitude
lng lon longitude long
latitude lat
longitude lon lng long
coordinates coords position location point
coords coordinates
image picture photo img
picture image photo
photo image picture
video clip movie
audio sound
sound audio noise
device machine gadget equipment
machine device server
server host machine
host server hostname
port socket
network net
timeout wait deadline delay
delay wait timeout pause
retries attempts retry tries
attempts retries tries
threads workers
enabled active on
active enabled
visible shown
public open
private hidden secret
include with add contain show
exclude without omit skip
detailed full verbose detail
recursive deep
overwrite
 from
tag label keyword
tags labels keywords
topic subject theme category
subject topic title theme
theme topic subject style
question query prompt
answer response reply
response answer reply
reply answer response
prompt query instruction question
context background
comment note remark
note comment remark memo
reminder alert notification
alert notification alarm warning
notification alert
schedule timetable plan calendar
plan schedule
deadline due
priority importance urgency
importance priority
reference ref
source origin from
output result out
result output outcome
results output limit
outcomes results
outcome result
input
key id identifier
attribute property field
property attribute
parameters params options settings
options settings preferences parameters config
settings options preferences configuration config
preferences options settings
config configuration settings options
properties attributes
criteria filter conditions
tool slug
"""


Words = tuple[str, ...]

_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

_VOWEL = re.compile(r"[aeiouy]|[^a-z]")

EMPTY_WORDS = frozenset(
    [
        "value",
        "val",
        "input",
        "param",
        "parameter",
        "arg",
        "argument",
        "field",
        "the",
        "a",
        "an",
        "my",
        "your",
        "our",
        "given",
        "str",
        "string",
        "int",
        "integer",
        "obj",
        "variable",
        "var",
        "this",
        "requested",
        "desired",
        "selected",
        "of",
        "for",
        "is",
    ]
)
"""Words that can be added to a name or left out of it without changing what it names."""

NOISE = frozenset(
    [
        "reason",
        "reasoning",
        "reasons",
        "rationale",
        "explanation",
        "explain",
        "thought",
        "thoughts",
        "thinking",
        "think",
        "comment",
        "comments",
        "note",
        "notes",
        "justification",
        "analysis",
        "confidence",
        "certainty",
        "request_id",
        "requestid",
        "call_id",
        "callid",
        "tool_call_id",
        "trace",
        "trace_id",
        "session_id",
        "correlation_id",
        "timestamp",
        "tool",
        "tool_name",
        "function",
        "function_name",
        "action",
        "intent",
        "goal",
        "plan",
        "step",
        "verbose",
        "debug",
        "metadata",
        "meta",
        "context",
        "source",
        "caller",
        "model",
        "agent",
        "observation",
        "self",
        "kwargs",
        "_meta",
        "purpose",
        "why",
    ]
)
"""Arguments that models add on their own account: about the call, not for the tool."""


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, lower case: `maxResults_v2` has max, results, v, 2."""
    return tuple(word.lower() for word in _SPLIT.findall(name if name.isascii() else normalize("NFKC", name)))


@lru_cache(maxsize=4096)
def joined(name: str) -> str:
    """A name without case and separators."""
    return "".join(words_of(name)).casefold()


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """One form for singular and plural; good enough to compare, not to print."""
    if not _VOWEL.search(word):
        return word  # `https` and `dns` are no plurals
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_MEANINGS: dict[str, frozenset[int]] = {}


def _meanings() -> dict[str, frozenset[int]]:
    if not _MEANINGS:
        groups: dict[str, set[int]] = {}
        for number, line in enumerate(GROUPS.strip().splitlines()):
            for word in line.split():
                groups.setdefault(singular(word), set()).add(number)
        _MEANINGS.update((word, frozenset(numbers)) for word, numbers in groups.items())
    return _MEANINGS


def has_meaning(word: str) -> bool:
    """Whether a word has a meaning of its own here."""
    return singular(word) in _meanings()


def same_meaning(left: str, right: str) -> bool:
    """Whether two words are used for the same thing in names of parameters."""
    left, right = singular(left), singular(right)
    if left == right:
        return True
    meanings = _meanings()
    one, other = meanings.get(left), meanings.get(right)
    if one is not None and other is not None:
        return bool(one & other)
    return _abbreviates(left, right) if one is None and len(left) < len(right) else _abbreviates(right, left)


def _abbreviates(short: str, long: str) -> bool:
    """`desc` for description, `msg` for message; only words that mean nothing else are abbreviations."""
    if short in _meanings() or short in COMMON or len(long) < len(short) + 2 or short[:1] != long[:1]:
        return False
    if len(short) >= 3 and long.startswith(short):
        return True
    letters = iter(long)
    return len(short) >= 2 and not set(short[1:]) & set("aeiou") and all(letter in letters for letter in short)


# ── opposites ──
# Names that look alike and mean the contrary: `old_value` is never taken for `new_value`, nor `lat1` for `lat2`.

_PAIRS = """
start begin from first since initial | end finish stop to until last final
before prior | after
early | late
origin source from sender | destination target to recipient receiver
old previous prior before | new next after
min minimum least lowest low lower | max maximum most highest high upper
left | right
top up above | bottom down below
north | south
east | west
width | height depth
row | column col
latitude lat | longitude lon lng
x | y z
input in | output out
http | https
inbound incoming | outbound outgoing
read | write
add insert append | remove delete drop
include allow accept enable show open | exclude deny reject disable hide close
included allowed accepted enabled shown opened active | excluded denied rejected disabled hidden closed inactive
on | off
encrypt encode | decrypt decode
upload push import | download pull export
public | private
local | remote global
internal | external
parent | child
buyer buy bid | seller sell ask
debit | credit
income revenue | expense
home | away
question | answer
request | response
billing | shipping
asc ascending | desc descending
positive | negative
male | female
success | failure
day | night
arrival | departure
"""
_NEGATIONS_OPPOSITES = ("un", "in", "dis", "de", "non", "im", "ir")


def _sides() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    lines = [line.split("|") for line in _PAIRS.strip().splitlines()]
    return tuple((frozenset(one.split()), frozenset(other.split())) for one, other in lines)


_SIDES = _sides()


_WORDS = frozenset(word for sides in _SIDES for side in sides for word in side)


def is_side(word: str) -> bool:
    """Whether a word has a contrary."""
    return word in _WORDS


@lru_cache(maxsize=4096)
def opposed(name: str, target: str) -> bool:
    """Whether two names say the contrary of each other, or carry another number.

    >>> opposed("max_price", "min_price"), opposed("is_inactive", "is_active"), opposed("x1", "x2"), opposed("a", "b")
    (True, True, True, False)
    """
    mine, theirs = ({singular(word) for word in words_of(one)} for one in (name, target))
    left, right = mine - theirs, theirs - mine
    if any(word.isdigit() for word in left) and any(word.isdigit() for word in right):
        return True
    if any((left & one and right & other) or (left & other and right & one) for one, other in _SIDES):
        return True
    return any(_negates(one, other) or _negates(other, one) for one in left for other in right)


def _negates(word: str, other: str) -> bool:
    return len(other) >= 4 and any(word == negation + other for negation in _NEGATIONS_OPPOSITES)


# ── apart ──
# What sets two names apart although they look alike: `exclude_path` is no `path`, `size_gb` no `size_mb`.
#
# A word that one name has and the other lacks may say nothing or only the kind of value. It may also turn the meaning
# round, name a unit, count, or say whose value it is; then the names are for different things.

_NEGATIONS_TEXT = """
    not no non never without exclude excluded excluding exclusion except ignore ignored skip skipped omit avoid anti
    deny disable disabled hide hidden unless only neither
    """
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_ROLES_TEXT = """
    cc bcc backup secondary primary alternate alternative alt old new previous next from to start end begin finish in
    out min max minimum maximum before after source destination origin target sender recipient receiver first last
    middle parent child home work billing shipping since until default current original final reply emergency fax left
    right top bottom inbound outbound departure arrival return upper lower maiden expected actual per expiry
    """
_ROLES = frozenset(_ROLES_TEXT.split())
_CONFUSABLE_TEXT = """
    from form county country prize price https http even event desert dessert quiet quite affect effect lose loose
    stopover layover waypoint via advice advise personal personnel stationary stationery angel angle casual causal
    complement compliment costumer customer principle principal sever server trail trial untied united marital martial
    """
_CONFUSABLE = frozenset(_CONFUSABLE_TEXT.split())
"""Words of their own that are one slip away from another, or that a name left over must not be taken for."""


class Rest(NamedTuple):
    """The words of two names that have no counterpart in the other."""

    mine: Words
    theirs: Words


def is_word(word: str) -> bool:
    """Whether a word means something of its own, so that it is no slip for another."""
    one = singular(word)
    known = has_meaning(word) or word in _CONFUSABLE or word in COMMON or one in COMMON
    return known or word in _ROLES or word in _NEGATIONS or is_side(one) or is_unit(word)


@lru_cache(maxsize=4096)
def rest_of(name: str, target: str) -> Rest:
    """What is left when words that are the same, and then words that mean the same, have been paired."""
    mine, theirs = list(words_of(name)), list(words_of(target))
    for alike in (_equal, same_meaning):
        for word in tuple(mine):
            other = next((other for other in theirs if alike(word, other)), None)
            if other is not None:
                mine.remove(word)
                theirs.remove(other)
    return Rest(_telling(mine, words_of(target)), _telling(theirs, words_of(name)))


def forbids(name: str, target: str) -> bool:
    """Whether the words that differ say that the names are for different things."""
    rest = rest_of(name, target)
    return opposed(name, target) or any(map(_turns, rest.mine + rest.theirs)) or any(map(_is_role, rest.mine))


def is_narrower(name: str, target: str) -> bool:
    """Whether the target says whose value it is and the name does not: `date` for `departure_date`."""
    return any(map(_is_role, rest_of(name, target).theirs))


def _equal(one: str, other: str) -> bool:
    return singular(one) == singular(other)


def _telling(words: list[str], others: Words) -> Words:
    """Without what says nothing, and without what repeats a word of the other name (`search_query` for `query`)."""
    told = [word for word in words if word not in EMPTY_WORDS]
    return tuple(
        word
        for word in told
        if _turns(word) or _is_role(word) or not any(same_meaning(word, other) for other in others)
    )


def _turns(word: str) -> bool:
    return word in _NEGATIONS or word.isdigit() or is_unit(word)


def _is_role(word: str) -> bool:
    return word in _ROLES
