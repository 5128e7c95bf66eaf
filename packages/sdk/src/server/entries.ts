import type { Exchange, Outcome } from '../core/exchange.ts'
import type { Prompt, Resource, ResourceTemplate, Tool } from '../protocol/definitions.ts'
import type { HeaderPlan } from '../protocol/headers.ts'
import type { complete } from './completion.ts'
import type { Completer, Context } from './context.ts'
import type { Prepared } from './schema.ts'
import type { Report } from './tools.ts'
import type { UriTemplate } from './uri-template.ts'

/** Serves `completion/complete` for every definition of a server. */
export type Complete = typeof complete

/** A tool ready to be listed and called. */
export interface ToolEntry {
  readonly name: string
  /** What a caller needs to see and use it. */
  readonly scopes: readonly string[]
  readonly input: Prepared | undefined
  readonly output: Prepared | undefined
  readonly run: (args: unknown, ctx: Context) => unknown
  /** Serves a call of it. */
  readonly call: (exchange: Exchange, report: Report) => Outcome | Promise<Outcome>
  /** Whether a call of it runs as a task. */
  readonly task: 'optional' | 'required' | undefined
  /** Its row in `tools/list`. */
  readonly listed: Tool
  /** Its mirrored arguments; undefined when there are none. */
  readonly headers: HeaderPlan | undefined
}

/** A resource ready to be listed and read. */
export interface ResourceEntry {
  readonly name: string
  readonly scopes: readonly string[]
  /** Serves a read of it. */
  readonly serve: (exchange: Exchange) => Promise<Outcome>
  readonly listed: Resource
}

/** A template ready to be listed, matched and read. */
export interface TemplateEntry {
  readonly name: string
  readonly scopes: readonly string[]
  readonly template: UriTemplate
  /** Serves a read of one of its members; undefined for a URI that is none. */
  readonly serve: (exchange: Exchange, uri: string) => Promise<Outcome> | undefined
  readonly members: ((ctx: Context) => Resource[] | Promise<Resource[]>) | undefined
  readonly completers: ReadonlyMap<string, Completer>
  readonly complete: Complete
  readonly listed: ResourceTemplate
}

/** A prompt ready to be listed and run. */
export interface PromptEntry {
  readonly name: string
  readonly scopes: readonly string[]
  /** Serves a request for it. */
  readonly get: (exchange: Exchange) => Promise<Outcome>
  readonly completers: ReadonlyMap<string, Completer>
  readonly complete: Complete
  readonly listed: Prompt
}
