import type { ServerCapabilities } from '../protocol/capabilities.ts'

/** What several servers declare together: whatever any of them does. Of settings under one name the first count. */
export function united(all: readonly ServerCapabilities[]): ServerCapabilities {
  const together = new Map<string, object>()
  for (const capabilities of all) {
    for (const [name, value] of Object.entries(capabilities)) {
      if (value !== undefined) together.set(name, merged(together.get(name) ?? {}, value))
    }
  }
  return Object.fromEntries(together)
}

/** A flag that any of them has is set. */
function merged(first: object, second: object): object {
  const settings = new Map<string, unknown>(Object.entries(second))
  for (const [name, value] of Object.entries(first)) {
    if (settings.get(name) !== true) settings.set(name, value)
  }
  return Object.fromEntries(settings)
}
