import { McpError } from '@jackfield/sdk'
import type {
  CatalogPrompt,
  CatalogResource,
  CatalogTemplate,
  CatalogTool,
  TrustItem,
} from '../../types/index.ts'
import type { ServerConnection } from '../connections/connection.ts'
import { exposedName } from './names.ts'
import { isAlways, isOffered } from './offered.ts'

/** Why a thing of a server may not be used; undefined where it may. */
export type UseGate = (what: Exclude<TrustItem['what'], 'instructions'>, entry: object) => string | undefined

/** One space of names over what all servers offer. Lists leave out what may not be used; names find it all the same. */
export interface Catalog {
  tools(): CatalogTool[]
  prompts(): CatalogPrompt[]
  resources(): CatalogResource[]
  templates(): CatalogTemplate[]
  /** The tool and its connection. Throws an McpError for a name nobody has. */
  tool(name: string): { entry: CatalogTool; connection: ServerConnection }
  prompt(name: string): { entry: CatalogPrompt; connection: ServerConnection }
  server(name: string): ServerConnection
}

/** Servers come in the order they were configured, their things in the order they list them. */
export function createCatalog(
  connections: ReadonlyMap<string, ServerConnection>,
  warn: (server: string, message: string) => void,
  gateOf: (connection: ServerConnection) => UseGate,
): Catalog {
  const warned = new Set<string>()
  const warnOnce = (server: string, message: string): void => {
    const key = JSON.stringify([server, message])
    if (!warned.has(key)) warn(server, message)
    warned.add(key)
  }

  /** Everything of one kind under its exposed name; a name that two things claim belongs to neither. */
  function named<T extends { name: string }>(
    listOf: (connection: ServerConnection) => readonly T[],
  ): Map<string, { connection: ServerConnection; item: T }> {
    const found = new Map<string, { connection: ServerConnection; item: T }>()
    const clashes = new Set<string>()
    for (const connection of connections.values()) {
      for (const item of listOf(connection)) {
        const name = exposedName(connection.name, item.name)
        if (found.has(name)) {
          clashes.add(name)
          warnOnce(connection.name, `Two entries are called ${item.name}, so neither is offered`)
        }
        found.set(name, { connection, item })
      }
    }
    for (const name of clashes) found.delete(name)
    return found
  }

  const tools = (): Map<string, { entry: CatalogTool; connection: ServerConnection }> =>
    mapValues(
      named(({ lists, config }) => lists.tools.filter(({ name }) => isOffered(name, config.tools))),
      (name, { connection, item }) => ({
        connection,
        entry: {
          name,
          server: connection.name,
          tool: item,
          ...(isAlways(item.name, connection.config.tools) && { always: true as const }),
        },
      }),
    )
  const prompts = (): Map<string, { entry: CatalogPrompt; connection: ServerConnection }> =>
    mapValues(
      named((connection) => connection.lists.prompts),
      (name, { connection, item }) => ({
        connection,
        entry: { name, server: connection.name, prompt: item },
      }),
    )

  /** What may be used of one kind, server by server. */
  function usable<T extends { server: string }>(
    what: Parameters<UseGate>[0],
    entries: readonly T[],
    of: (entry: T) => object,
  ): T[] {
    const gates = new Map<string, UseGate>()
    const gate = (name: string): UseGate | undefined => {
      const connection = gates.has(name) ? undefined : connections.get(name)
      if (connection !== undefined) gates.set(name, gateOf(connection))
      return gates.get(name)
    }
    return entries.filter((entry) => gate(entry.server)?.(what, of(entry)) === undefined)
  }
  const listed = <T>(listOf: (connection: ServerConnection) => readonly T[]): T[] =>
    [...connections.values()].flatMap((connection) => [...listOf(connection)])

  return {
    tools: () =>
      usable(
        'tool',
        [...tools().values()].map(({ entry }) => entry),
        ({ tool }) => tool,
      ),
    prompts: () =>
      usable(
        'prompt',
        [...prompts().values()].map(({ entry }) => entry),
        ({ prompt }) => prompt,
      ),
    resources: () =>
      usable(
        'resource',
        listed(({ name, lists }) => lists.resources.map((resource) => ({ server: name, resource }))),
        ({ resource }) => resource,
      ),
    templates: () =>
      usable(
        'template',
        listed(({ name, lists }) => lists.templates.map((template) => ({ server: name, template }))),
        ({ template }) => template,
      ),
    tool: (name) => tools().get(name) ?? unknown('tool', name),
    prompt: (name) => prompts().get(name) ?? unknown('prompt', name),
    server: (name) => connections.get(name) ?? unknown('server', name),
  }
}

function unknown(kind: string, name: string): never {
  throw new McpError('INVALID', `There is no ${kind} named ${JSON.stringify(name)} at present`)
}

function mapValues<A, B>(from: Map<string, A>, to: (name: string, value: A) => B): Map<string, B> {
  return new Map([...from].map(([name, value]) => [name, to(name, value)]))
}
