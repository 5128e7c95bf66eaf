/** Longer texts are never sentences of the host. */
const maxCharacters = 4_000

interface Sentence {
  /** The text before, between and after the values. */
  readonly literals: readonly string[]
  readonly names: readonly string[]
  readonly translation: string
}

/** Placeholders whose values are sentences of the host themselves. `what` is a list of sentences. */
const nested: ReadonlySet<string> = new Set(['why', 'by'])

/**
 * Creates a function that translates a sentence of the host with its values; it returns undefined if there is no translation.
 * `messages`: translations by sentence, both with placeholders. `item(s)` in a sentence matches singular and plural.
 */
export function translator(
  messages: Readonly<Record<string, unknown>>,
): (text: string) => string | undefined {
  // Longer literals come first, since shorter ones may match the same sentence.
  const sentences: readonly Sentence[] = Object.entries(messages)
    .flatMap(([sentence, translation]) => {
      if (typeof translation !== 'string') return []
      return inBothNumbers(sentence).map((form) => {
        const parts = form.split(/\{(\w+)\}/)
        return {
          literals: parts.filter((_, n) => n % 2 === 0),
          names: parts.filter((_, n) => n % 2 === 1),
          translation,
        }
      })
    })
    .sort((first, second) => lengthOf(second) - lengthOf(first))
  return function translate(text: string): string | undefined {
    if (text.length > maxCharacters) return undefined
    for (const { literals, names, translation } of sentences) {
      const values = valuesIn(text, literals)
      if (values !== undefined)
        return translation.replace(/\{(\w+)\}/g, (_, name: string) => {
          const value = values[names.indexOf(name)] ?? ''
          if (name === 'what')
            return value
              .split(', ')
              .map((item) => translate(item) ?? item)
              .join('、')
          return nested.has(name) ? (translate(value) ?? value) : value
        })
    }
    return undefined
  }
}

/** The variants of a sentence with each `(s)` as singular and plural. */
function inBothNumbers(sentence: string): string[] {
  const [first = '', ...rest] = sentence.split('(s)')
  return rest.reduce<string[]>(
    (forms, part) => forms.flatMap((form) => [`${form}${part}`, `${form}s${part}`]),
    [first],
  )
}

function lengthOf({ literals }: Pick<Sentence, 'literals'>): number {
  return literals.reduce((sum, literal) => sum + literal.length, 0)
}

/** The texts between literals, each of at least one character; undefined if the text does not match. */
function valuesIn(text: string, [first = '', ...rest]: readonly string[]): string[] | undefined {
  if (!text.startsWith(first)) return undefined
  const last = rest.at(-1)
  if (last === undefined) return text === first ? [] : undefined
  if (!text.endsWith(last)) return undefined
  const values: string[] = []
  let position = first.length
  for (const [n, literal] of rest.entries()) {
    const end = n === rest.length - 1 ? text.length - literal.length : text.indexOf(literal, position + 1)
    if (end <= position) return undefined
    values.push(text.slice(position, end))
    position = end + literal.length
  }
  return values
}
