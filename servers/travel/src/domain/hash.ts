/** A pseudo-random number from 0 to less than 1, seeded by the parts alone: the same in every run and on every machine. */
export function chance(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  const text = parts.join('|')
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  hash ^= hash >>> 16
  return (hash >>> 0) / 0x1_0000_0000
}

/** A pseudo-random item, always the same for the same parts. */
export function choose<T>(items: readonly T[], ...parts: readonly (string | number)[]): T | undefined {
  return items[Math.floor(chance(...parts) * items.length)]
}
