/** Replaces known secret values wherever they turn up. */
export interface Redactor {
  /** Makes a value known; `name` stands in its place from now on. Values of fewer than 6 characters are not replaced. */
  add(value: string, name: string): void
  text(text: string): string
  /** A copy of a JSON value with every text in it redacted, names of members too; the value itself where it holds none. */
  value<T>(value: T): T
  /** For a text that comes in pieces: holds back what may be the beginning of a secret. */
  stream(): RedactedStream
}

export interface RedactedStream {
  /** Takes a piece and gives what can be shown of all so far. */
  push(text: string): string
  /** Gives what was held back. */
  end(): string
}

const leastChars = 6

export function createRedactor(): Redactor {
  /** By each form that a value may be seen in, the name of the secret. */
  const forms = new Map<string, string>()
  let pattern: RegExp | undefined
  let longest = 0

  const text = (given: string): string => {
    if (forms.size === 0) return given
    pattern ??= new RegExp(
      [...forms.keys()]
        .sort((a, b) => b.length - a.length)
        .map((form) => form.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
        .join('|'),
      'g',
    )
    return given.replace(pattern, (found) => `[${forms.get(found) ?? 'secret'}]`)
  }

  /** How many characters at the end may be the beginning of a secret. */
  const open = (given: string): number => {
    for (let length = Math.min(given.length, longest - 1); length > 0; length--) {
      const tail = given.slice(-length)
      for (const form of forms.keys()) if (form.startsWith(tail)) return length
    }
    return 0
  }

  return {
    add(value, name) {
      if (value.length < leastChars) return
      for (const form of formsOf(value)) {
        if (!forms.has(form)) forms.set(form, name)
        longest = Math.max(longest, form.length)
      }
      pattern = undefined
    },
    text,
    value: (given) => (forms.size === 0 ? given : redacted(given, text)),
    stream() {
      let held = ''
      return {
        push(piece) {
          const whole = text(held + piece)
          const keep = open(whole)
          held = whole.slice(whole.length - keep)
          return whole.slice(0, whole.length - keep)
        },
        end() {
          const rest = held
          held = ''
          return rest
        },
      }
    },
  }
}

/** A structure of the same shape, with only its texts changed. */
function redacted<T>(given: T, text: (given: string) => string): T {
  const seen = JSON.stringify(given)
  if (seen === undefined || !touches(given, text)) return given
  return JSON.parse(seen, (_key, member: unknown) => {
    if (typeof member === 'string') return text(member)
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).map(([key, item]) => [text(key), item]))
  })
}

function touches(value: unknown, text: (given: string) => string): boolean {
  if (typeof value === 'string') return text(value) !== value
  if (Array.isArray(value)) return value.some((item) => touches(item, text))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, item]) => text(key) !== key || touches(item, text))
}

/** A value as it is, in JSON, in a URL, and in base64 wherever in a longer text it begins. */
function formsOf(value: string): Set<string> {
  const forms = new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    encodeURIComponent(value.toWellFormed()).replaceAll('%20', '+'),
  ])
  const bytes = Buffer.from(value, 'utf8')
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    // Characters at both ends also carry bits of what stands beside the secret.
    const start = Math.ceil((before * 8) / 6)
    const end = Math.floor(((before + bytes.length) * 8) / 6)
    const stable = encoded.slice(start, end)
    if (stable.length < leastChars) continue
    forms.add(stable)
    forms.add(stable.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return forms
}
