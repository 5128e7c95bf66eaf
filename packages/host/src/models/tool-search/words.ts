/** Words without meaning for a tool's function. */
const stopWords = new Set(
  'a an the of to in on at by for from with and or is are be been was it its this that these those as into onto i me my we our you your he his she her they them their what which who when where how do does did can could should would will please want need tool tools using use used given if so not no any some let lets there here up out about another other else again just now'.split(
    ' ',
  ),
)

/** Question words, and the tool-name verbs they suggest. */
const intents: readonly (readonly [RegExp, string])[] = [
  [/^(?:which|what|list|all|every|my|our)\b|\b(?:all|every|which|newest|latest|are there)\b/i, 'list'],
  [/^(?:how|is|are|who|where|will|why|did|does|show|look at)\b|\b(?:details?|what is|current)\b/i, 'get'],
  [/\b(?:turn|switch|make .*(?:er|more)|set (?!up))\b/i, 'update'],
  [/\bset up\b/i, 'create'],
  [/\bcall(?:ed)? off\b/i, 'cancel'],
  [/\b(?:statistics|figures|trends?|totals?|average)\b/i, 'analyze'],
]

/** Idioms, and the words that tools use instead. */
const idioms: readonly (readonly [RegExp, string])[] = [
  [/\bget (?:to|home)\b/gi, ' directions route '],
  [/\bhow (?:big|large)\b/gi, ' size info '],
  [/\bhow much money\b/gi, ' balance '],
  [/\bcheck(?:ed)? off\b/gi, ' complete '],
  [/\b(?:warmer|hotter|colder|cooler)\b/gi, ' temperature '],
  [/\b(?:brighter|dimmer|darker)\b/gi, ' light brightness '],
  [/\bto the (?:page|site|url)\b|\bgo to\b/gi, ' navigate '],
  // File names and URLs are data, not search words.
  [
    /(?<![\w/])(?:[\w-]+|\*)\.(?:txt|md|log|json|csv|tsv|ya?ml|xml|html?|pdf|docx?|xlsx?|png|jpe?g|py|ts|rs|go)\b/gi,
    ' file ',
  ],
  [/\bhttps?:\/\/\S+|\b[\w-]+\.(?:com|org|net|io|dev)\b/gi, ' url '],
]

/** Words for the output format, which do not describe the tool. */
const outputFormat = /\bas (?:an? )?(?:csv|json|pdf|excel|file)(?: file)?\b/i

/** The words of a query, and the verbs suggested by its phrasing. */
export function parseQuery(query: string): { words: string[]; verbs: string[] } {
  const verbs = intents.flatMap(([pattern, verb]) => (pattern.test(query) ? [stem(verb)] : []))
  const replaced = idioms.reduce((text, [idiom, replacement]) => text.replace(idiom, replacement), query)
  if (!outputFormat.test(query)) return { words: searchWords(replaced), verbs }
  return { words: searchWords(replaced.replace(outputFormat, ' ')), verbs: [...verbs, stem('export')] }
}

/** The words of a text for searching: names split at case changes, lower case, without accents, stemmed. */
export function searchWords(text: string): string[] {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .replace(/\b(on|to|e|wi)-(call|dos?|mails?|fi)\b/g, '$1$2')
    .replace(/(\p{L})['’]s\b/gu, '$1')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !stopWords.has(word))
    .map(stem)
}

/** Removes common English endings, so that `creating`, `created` and `creation` match `create`. */
function stem(word: string): string {
  if (/^[^aeiouy\d]{2}s$/.test(word)) return word.slice(0, -1)
  if (word.length <= 3 || !/^[a-z]+$/.test(word)) return word
  let base = word
  if (base.endsWith('ies') && base.length > 4) base = `${base.slice(0, -3)}y`
  else if (/(?:sses|xes|ches|shes|zes)$/.test(base)) base = base.slice(0, -2)
  else if (/[^suia]s$/.test(base)) base = base.slice(0, -1)
  if (base.endsWith('ing') && base.length > 5) base = withoutDoubledConsonant(base.slice(0, -3))
  else if (base.endsWith('ied') && base.length > 4) base = `${base.slice(0, -3)}y`
  else if (base.endsWith('ed') && base.length > 4) base = withoutDoubledConsonant(base.slice(0, -2))
  else if (/[ts]ion$/.test(base) && base.length > 7) base = base.slice(0, -3)
  else if (base.endsWith('ment') && base.length > 6) base = base.slice(0, -4)
  return base.endsWith('e') && base.length > 3 ? base.slice(0, -1) : base
}

/** `stopp` of `stopped` becomes `stop`, while `call` of `called` stays. */
function withoutDoubledConsonant(base: string): string {
  return /([bdgmnprt])\1$/.test(base) ? base.slice(0, -1) : base
}

/** Synonyms, one group on each line. */
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

const synonymsByWord = new Map<string, Set<string>>()
for (const group of groups) {
  for (const word of group) {
    const wordSynonyms = synonymsByWord.get(word) ?? new Set()
    for (const other of group) if (other !== word) wordSynonyms.add(other)
    synonymsByWord.set(word, wordSynonyms)
  }
}

/** Synonyms of a word returned by `words`. */
export function synonyms(word: string): ReadonlySet<string> {
  return synonymsByWord.get(word) ?? noSynonyms
}

const noSynonyms: ReadonlySet<string> = new Set()
