const shownChars = 120

/** The beginning of a text, fit for one line of a log. */
export function shown(text: string, maxChars: number = shownChars): string {
  const start = text.slice(0, maxChars).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
  return text.length > maxChars ? `${start}…` : start
}

/** The kind of a value with its article, for error messages: `a string`, `an array`, `null`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
