import { invalid, McpError } from '../jsonrpc/error.ts'
import { type Icon, isSafeIcon } from '../protocol/content.ts'
import type { CacheHints, Tool } from '../protocol/definitions.ts'
import { isScope } from '../request/exchange.ts'
import { defined, requireKnown } from '../request/object-members.ts'

/** Validates cache hints. @throws McpError 'INVALID' */
export function requireHints(what: string, hints: Partial<CacheHints> | undefined): void {
  const { ttlMs = 0, cacheScope = 'private' } = hints ?? {}
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 0) {
    throw invalid(`${what}: "ttlMs" must be a whole number of milliseconds of at least 0, not ${ttlMs}`)
  }
  if (cacheScope !== 'public' && cacheScope !== 'private') {
    throw invalid(`${what}: "cacheScope" must be 'public' or 'private'`)
  }
}

/** Validates icons. @throws McpError 'INVALID' for a URL that is neither `https:` nor `data:` */
export function requireIcons(what: string, icons: readonly Icon[] | undefined): void {
  const unsafe = icons?.find((icon) => !isSafeIcon(icon))
  if (unsafe !== undefined)
    throw invalid(`${what} has an icon that is neither https: nor data: (${unsafe.src})`)
}

/** The required scopes of a definition, without duplicates. @throws McpError 'INVALID' */
export function scopesOf(what: string, scopes: readonly string[] = []): readonly string[] {
  const wrong = scopes.find((scope) => !isScope(scope))
  if (wrong !== undefined) throw invalid(`${what} requires "${wrong}", which is not a valid scope name`)
  return [...new Set(scopes)]
}

/** Members that every kind of definition can have. */
export const metadataMembers: readonly string[] = ['kind', 'title', 'description', 'icons', 'meta', 'scopes']

/** The members that every kind of definition has in its list. @throws McpError 'INVALID' */
export function listedMetadata(
  what: string,
  value: { title?: string; description?: string; icons?: Icon[]; meta?: Record<string, unknown> },
): Pick<Tool, 'title' | 'description' | 'icons' | '_meta'> {
  const { title, description, icons, meta } = value
  requireIcons(what, icons)
  return defined({ title, description, icons, _meta: meta })
}

/** Names of members in other SDKs, with a hint for this one. */
const hintsForOtherSdks: Readonly<Record<string, string>> = {
  inputSchema: 'the schema of the arguments is "input"',
  outputSchema: 'the schema of the result is "output"',
  argsSchema: 'the schema of the arguments is "input"',
  paramsSchema: 'the schema of the arguments is "input"',
  parameters: 'the schema of the arguments is "input"',
  args: 'the schema of the arguments is "input"',
  arguments: 'the schema of the arguments is "input"',
  schema: 'the schema of the arguments is "input"',
  name: 'its name is its key in "defineServer"',
  _meta: 'metadata is "meta"',
  readOnlyHint: 'it belongs in "annotations"',
  destructiveHint: 'it belongs in "annotations"',
  idempotentHint: 'it belongs in "annotations"',
  openWorldHint: 'it belongs in "annotations"',
  tool: 'tools are "tools"',
  resource: 'resources are "resources"',
  resourceTemplates: 'templates are defined in "resources", by template()',
  templates: 'templates are defined in "resources", by template()',
  prompt: 'prompts are "prompts"',
  middleware: 'middleware is "use"',
  capabilities: 'capabilities follow from what is defined',
  description: 'the description of a server is "serverDescription"',
}
const handlerNames: readonly string[] = [
  'handler',
  'handle',
  'execute',
  'callback',
  'cb',
  'fn',
  'call',
  'func',
]

/**
 * Rejects unknown members of a definition.
 * @param handler the required function of the definition
 * @throws McpError 'INVALID' naming the member and, if known, its name in this SDK
 */
export function requireMembers(
  what: string,
  value: object,
  known: readonly string[],
  handler?: { readonly name: string; readonly does: string },
): void {
  requireKnown(what, value, known, (name) =>
    handler !== undefined && [...handlerNames, 'run', 'read'].includes(name)
      ? `the function that ${handler.does} is "${handler.name}"`
      : Object.hasOwn(hintsForOtherSdks, name)
        ? hintsForOtherSdks[name]
        : undefined,
  )
  if (handler === undefined) return
  const run: unknown = Reflect.get(value, handler.name)
  if (typeof run !== 'function') {
    throw invalid(`${what} needs "${handler.name}", the function that ${handler.does}`)
  }
}

/** Calls `make`, and puts `what` in front of the message of an McpError. */
export function prefixErrors<T>(what: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new McpError('INVALID', `${what}: ${error.message}`, { cause: error })
  }
}
