/** What every place of a message is changed to; undefined leaves it out. */
export const values: readonly unknown[] = [
  ...[undefined, null, true, 1, 1.5, -1, '', 'x', [], [1], {}, { a: 1 }, { toString: 1 }],
]

/** Every place in a message, as the names that lead to it. */
export function placesIn(message: object, at: readonly string[] = []): string[][] {
  return Object.entries(message).flatMap(([key, value]) => {
    const place = [...at, key]
    return [place, ...(typeof value === 'object' && value !== null ? placesIn(value, place) : [])]
  })
}

/** A copy in which one place is another value. */
export function withValueAt(message: object, [key = '', ...rest]: readonly string[], value: unknown): object {
  if (rest.length > 0) return set(message, key, withValueAt(Object(Reflect.get(message, key)), rest, value))
  return set(message, key, value)
}

function set(message: object, key: string, value: unknown): object {
  if (Array.isArray(message)) {
    return value === undefined ? message.toSpliced(Number(key), 1) : message.with(Number(key), value)
  }
  const { [key]: old, ...others } = { ...message, [key]: undefined }
  return value === undefined ? others : { ...message, [key]: value }
}
