import { stem } from './words.ts'

/** Words that people and authors of tools use for the same thing, a group on each line. */
const groups = `
create add new make insert open write register compose draft propose reserve enter file arrange
delete remove erase drop destroy trash purge discard clear rid throw kill
update edit change modify patch alter adjust revise set correct move switch turn scale
rename move
get fetch read show retrieve view load look display see inspect describe detail watch open
list enumerate all browse every existing overview
search find query lookup locate seek look
send post deliver publish tell write say
publish post advertise announce
message chat dm
email mail inbox letter
event meeting appointment schedule
schedule book plan
calendar agenda diary
issue ticket bug defect problem
task todo reminder chore
pr pull merge
mr merge
repo repository
commit revision changeset
diff change compare review
review remark comment feedback
file document doc
folder directory
disk file directory
image picture photo screenshot capture
person user people member contact colleague
customer client buyer account
invoice bill
pay payment charge
payout transfer
refund reimburse money back
order purchase buy
run execute start launch trigger invoke begin kick evaluate
ci pipeline build workflow job
javascript script js
stop halt kill terminate cancel abort end
cancel withdraw call off
restart reboot
database db sql
row record entry
forecast weather temperature rain
route direction way navigate
place location address
coordinate latitude longitude geocode
close resolve finish complete done fixed
reopen restore recover undo
upload attach put
download export save
csv export
comment reply note log
log logs logging trace
error exception crash failure fail
deploy release ship rollout
version release
label tag
branch fork
archive zip pack compress
share invite grant permission access give
assign responsible give hand
copy duplicate clone
page website site url web tab
link url
click press tap
type fill enter
price cost fee
stock inventory
lead prospect
deal opportunity
metric measure statistic stats number figure
analyze statistic trend total figure usage
alert alarm notification notify warn
song track music
playlist album
play listen playback
speaker loudspeaker
lamp light bulb
heat thermostat temperature warm
energy electricity power
lock secure
translate language
summary summarize overview
size resize scale
sum add plus calculate arithmetic
pod container
machine server instance vm host runner
bucket storage store
queue backlog
employee staff worker hire
holiday vacation leave
vacation office absence
applicant candidate
salary payroll wage payslip
phone telephone call
time hour duration worklog spent
repeat recurring recurrence series weekly
flight plane
hotel room accommodation
typo edit
setting config configuration option
remind reminder nudge notify
elevation altitude height
approve accept agree confirm
reject decline refuse deny
subscribe follow watch
unsubscribe unfollow leave
pause suspend freeze
resume continue unpause
connect link join attach
import load ingest
sync synchronize refresh
validate check verify test
count number total amount
convert transform
generate create produce
login sign authenticate
register enroll signup
rate rating review
rent lease
track trace follow
history past previous earlier log
status state condition health
backup dump snapshot
role permission access
password secret credential
key token
profile account user
team group
company organization business firm account
money cash
car vehicle
job position vacancy opening
recipe meal food
video film movie
newsletter mailing campaign
survey questionnaire form poll
slide presentation deck
spreadsheet sheet table
chart graph plot diagram
preference setting
domain dns host
certificate cert tls
budget spending expense
receipt expense invoice
parcel package shipment delivery
route itinerary trip
draft unsent
void cancel
save write
download fetch
content text
transit train bus
cafe restaurant place
subtitle transcript caption
postpone reschedule delay
silence mute
outage incident
chargeback dispute
pipeline ci
money balance
draft prepare
pass conclusion result
site host
node machine
engineer responder
term keyword
combine merge join
`
  .trim()
  .split('\n')
  .map((line) => line.split(' ').map(stem))

const others = new Map<string, Set<string>>()
for (const group of groups) {
  for (const word of group) {
    const known = others.get(word) ?? new Set()
    for (const other of group) if (other !== word) known.add(other)
    others.set(word, known)
  }
}

/** Words that mean about the same as a word that `words` gave. */
export function synonyms(word: string): ReadonlySet<string> {
  return others.get(word) ?? nothing
}

const nothing: ReadonlySet<string> = new Set()
