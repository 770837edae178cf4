"""Words that people who write tools use for the same thing: one group a line, a word may stand in several."""

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
