import { isScope } from '../core/scopes.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { Icon } from '../protocol/content.ts'
import type { CacheHints, Tool } from '../protocol/definitions.ts'
import { isSafeIcon } from '../protocol/icons.ts'

/** Checks hints about freshness. @throws McpError 'INVALID' */
export function requireHints(what: string, hints: Partial<CacheHints> | undefined): void {
  const { ttlMs = 0, cacheScope = 'private' } = hints ?? {}
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 0) {
    throw invalid(`${what} has a "ttlMs" that is no whole number of milliseconds from 0: ${ttlMs}`)
  }
  if (cacheScope !== 'public' && cacheScope !== 'private') {
    throw invalid(`${what} has a "cacheScope" that is neither public nor private`)
  }
}

/** Checks icons. @throws McpError 'INVALID' for one that is neither `https:` nor `data:` */
export function requireIcons(what: string, icons: readonly Icon[] | undefined): void {
  const unsafe = icons?.find((icon) => !isSafeIcon(icon))
  if (unsafe !== undefined)
    throw invalid(`${what} has an icon that is neither https: nor data: (${unsafe.src})`)
}

/** The scopes a definition needs, each once. @throws McpError 'INVALID' */
export function scopesOf(what: string, scopes: readonly string[] = []): readonly string[] {
  const wrong = scopes.find((scope) => !isScope(scope))
  if (wrong !== undefined) throw invalid(`${what} needs "${wrong}", which cannot be the name of a scope`)
  return [...new Set(scopes)]
}

/** What every kind of definition shows in its list. @throws McpError 'INVALID' */
export function shown(
  what: string,
  value: { title?: string; description?: string; icons?: Icon[]; meta?: Record<string, unknown> },
): Pick<Tool, 'title' | 'description' | 'icons' | '_meta'> {
  const { title, description, icons, meta } = value
  requireIcons(what, icons)
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(icons === undefined ? {} : { icons }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}

/** Makes a part of a definition; what is wrong with it names both. */
export function attempt<T>(what: string, member: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new McpError('INVALID', `${what}: ${member}: ${error.message}`, { cause: error })
  }
}

/** A definition that cannot be served. */
export function invalid(message: string): McpError {
  return new McpError('INVALID', message)
}
