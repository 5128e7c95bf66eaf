/** Words that say nothing about what a tool does. */
const empty = new Set(
  'a an the of to in on at by for from with and or is are be been was it its this that these those as into onto i me my we our you your he his she her they them their what which who when where how do does did can could should would will please want need tool tools using use used given if so not no any some let lets there here up out about another other else again just now'.split(
    ' ',
  ),
)

/** What a person is after who asks in this way, as the verb that tools have in their names for it. */
const intents: readonly (readonly [RegExp, string])[] = [
  [/^(?:which|what|list|all|every|my|our)\b|\b(?:all|every|which|newest|latest|are there)\b/i, 'list'],
  [/^(?:how|is|are|who|where|will|why|did|does|show|look at)\b|\b(?:details?|what is|current)\b/i, 'get'],
  [/\b(?:turn|switch|make .*(?:er|more)|set (?!up))\b/i, 'update'],
  [/\bset up\b/i, 'create'],
  [/\bcall(?:ed)? off\b/i, 'cancel'],
  [/\b(?:statistics|figures|trends?|totals?|average)\b/i, 'analyze'],
]

/** Ways of putting a wish whose words mean something else one by one, and the words that tools have for it. */
const idioms: readonly (readonly [RegExp, string])[] = [
  [/\bget (?:to|home)\b/gi, ' directions route '],
  [/\bhow (?:big|large)\b/gi, ' size info '],
  [/\bhow much money\b/gi, ' balance '],
  [/\bcheck(?:ed)? off\b/gi, ' complete '],
  [/\b(?:warmer|hotter|colder|cooler)\b/gi, ' temperature '],
  [/\b(?:brighter|dimmer|darker)\b/gi, ' light brightness '],
  [/\bto the (?:page|site|url)\b|\bgo to\b/gi, ' navigate '],
  // Names of files and addresses say what is meant, not what it is called.
  [
    /(?<![\w/])(?:[\w-]+|\*)\.(?:txt|md|log|json|csv|tsv|ya?ml|xml|html?|pdf|docx?|xlsx?|png|jpe?g|py|ts|rs|go)\b/gi,
    ' file ',
  ],
  [/\bhttps?:\/\/\S+|\b[\w-]+\.(?:com|org|net|io|dev)\b/gi, ' url '],
]

/** How people say in which form they want something; the form is not what they look for. */
const form = /\bas (?:an? )?(?:csv|json|pdf|excel|file)(?: file)?\b/i

/** The words of a query, and the verbs that the way it is put suggests, whether or not they stand in it. */
export function wish(query: string): { words: string[]; verbs: string[] } {
  const verbs = intents.flatMap(([way, verb]) => (way.test(query) ? [stem(verb)] : []))
  const plain = idioms.reduce((text, [idiom, meant]) => text.replace(idiom, meant), query)
  if (!form.test(query)) return { words: words(plain), verbs }
  return { words: words(plain.replace(form, ' ')), verbs: [...verbs, stem('export')] }
}

/** The words of a text for searching: names split at their humps, lower case, without accents, endings taken off. */
export function words(text: string): string[] {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .replace(/\b(on|to|e|wi)-(call|dos?|mails?|fi)\b/g, '$1$2')
    .replace(/(\p{L})['’]s\b/gu, '$1')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !empty.has(word))
    .map(stem)
}

/** Takes the common endings off an English word, so that `creating`, `created` and `creation` meet `create`. */
export function stem(word: string): string {
  if (/^[^aeiouy\d]{2}s$/.test(word)) return word.slice(0, -1)
  if (word.length <= 3 || !/^[a-z]+$/.test(word)) return word
  let base = word
  if (base.endsWith('ies') && base.length > 4) base = `${base.slice(0, -3)}y`
  else if (/(?:sses|xes|ches|shes|zes)$/.test(base)) base = base.slice(0, -2)
  else if (/[^suia]s$/.test(base)) base = base.slice(0, -1)
  if (base.endsWith('ing') && base.length > 5) base = single(base.slice(0, -3))
  else if (base.endsWith('ied') && base.length > 4) base = `${base.slice(0, -3)}y`
  else if (base.endsWith('ed') && base.length > 4) base = single(base.slice(0, -2))
  else if (/[ts]ion$/.test(base) && base.length > 7) base = base.slice(0, -3)
  else if (base.endsWith('ment') && base.length > 6) base = base.slice(0, -4)
  return base.endsWith('e') && base.length > 3 ? base.slice(0, -1) : base
}

/** `stopp` of `stopped` is `stop`, while `call` of `called` stays. */
function single(base: string): string {
  return /([bdgmnprt])\1$/.test(base) ? base.slice(0, -1) : base
}
