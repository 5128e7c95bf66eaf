import {
  ErrorCode,
  type Prompt,
  type Resource,
  type ResourceTemplate,
  RpcError,
  type Tool,
} from '@jackfield/sdk'
import type { Client, ReadOptions } from '@jackfield/sdk/client'
import { failureFrom, reasonOf, withConfiguredLimit } from '../../shared/text.ts'
import type { Failure } from '../../types/index.ts'

/** What one server offers. */
export interface ServerLists {
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resources: readonly Resource[]
  readonly templates: readonly ResourceTemplate[]
}

export type ListKind = 'tools' | 'prompts' | 'resources'

export const noLists: ServerLists = { tools: [], prompts: [], resources: [], templates: [] }
export const everyKind: readonly ListKind[] = ['tools', 'prompts', 'resources']

const empty: Readonly<Record<ListKind, Partial<ServerLists>>> = {
  tools: { tools: [] },
  prompts: { prompts: [] },
  resources: { resources: [], templates: [] },
}

/** Why a list could not be fetched. */
export interface ListProblem {
  reason: string
  error: Failure | undefined
}

/** Lists as they are after a refresh, and what could not be fetched. */
export interface Refreshed {
  lists: ServerLists
  problems: Map<ListKind, ListProblem>
}

/**
 * Fetches lists anew. One that cannot be fetched stays as it was, with a problem to tell of.
 * @param limitMs the configured limit, of which `withinMs` is the rest
 */
export async function refreshLists(
  client: Client,
  before: ServerLists,
  kinds: Iterable<ListKind>,
  withinMs: number,
  limitMs: number = withinMs,
): Promise<Refreshed> {
  const problems = new Map<ListKind, ListProblem>()
  const { capabilities } = client.server
  const options = { timeoutMs: withinMs, maxTotalMs: withinMs, cache: 'refresh' } as const
  const fetches: Record<ListKind, () => Promise<Partial<ServerLists>>> = {
    tools: async () => ({ tools: await client.tools(options) }),
    prompts: async () => ({ prompts: await client.prompts(options) }),
    resources: async () => {
      const [resources, templates] = await Promise.all([
        client.resources(options),
        templatesOf(client, options),
      ])
      return { resources, templates }
    },
  }
  const fetched: Partial<ServerLists>[] = []
  await Promise.all(
    [...kinds].map(async (kind) => {
      try {
        fetched.push(capabilities[kind] === undefined ? empty[kind] : await fetches[kind]())
      } catch (failed) {
        const error = withConfiguredLimit(failed, `${kind}/list`, limitMs)
        const reason = `could not list ${kind}: ${reasonOf(error)}`
        problems.set(kind, { reason, error: failureFrom(error) })
      }
    }),
  )
  let lists = before
  for (const part of fetched) lists = { ...lists, ...part }
  return { lists, problems }
}

/** Many servers with resources have never heard of templates. */
async function templatesOf(client: Client, options: ReadOptions): Promise<ResourceTemplate[]> {
  try {
    return await client.templates(options)
  } catch (error) {
    if (error instanceof RpcError && error.code === ErrorCode.MethodNotFound) return []
    throw error
  }
}
