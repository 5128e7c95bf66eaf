/** Tool names as every provider accepts them: at most 64 of `[A-Za-z0-9_-]`, one to one with the given names. */
export interface ToolNames {
  toWire(name: string): string
  fromWire(name: string): string
}

const longest = 64

/** Makes the two-way mapping for the names of one request. Names that are fine already stay as they are. */
export function toolNames(names: Iterable<string>): ToolNames {
  const given = [...new Set(names)]
  const wire = new Map<string, string>()
  const back = new Map<string, string>()
  const plain = given.map((name) => [name, name.replace(/[^A-Za-z0-9_-]/g, '_')] as const)
  // Unchanged names first, so that a changed one never takes theirs.
  for (const [name, safe] of plain.toSorted(([a, x], [b, y]) => Number(a !== x) - Number(b !== y))) {
    let candidate = shorten(safe, '')
    for (let n = 2; back.has(candidate); n += 1) candidate = shorten(safe, `_${n}`)
    wire.set(name, candidate)
    back.set(candidate, name)
  }
  return {
    toWire: (name) => wire.get(name) ?? shorten(name.replace(/[^A-Za-z0-9_-]/g, '_'), ''),
    fromWire: (name) => back.get(name) ?? name,
  }
}

/** Cuts the middle out, since both ends tell tools apart. */
function shorten(name: string, suffix: string): string {
  const room = longest - suffix.length
  if (name.length <= room) return name + suffix
  const head = Math.ceil((room - 2) / 2)
  return `${name.slice(0, head)}__${name.slice(name.length - (room - 2 - head))}${suffix}`
}
