import type { Implementation } from '../protocol/definitions.ts'
import type { Middleware, Server } from '../server/server.ts'

/** What a composition is called and which servers it is made of. */
export interface CompositionOptions {
  name: string
  version: string
  title?: string
  /** What stands before the instructions of the members. */
  instructions?: string
  icons?: Implementation['icons']
  /**
   * The members, each under the prefix of its tools and prompts. Their order decides where two list one resource: the
   * first has it, and the other's is reported and left out.
   */
  servers: Readonly<Record<string, Server>>
  /** Stands between prefix and name: `travel__book`. Default `__`. */
  separator?: string
  /** Entries on one page of a list, about. Default 1000. */
  pageSize?: number
  /** Wraps the handling of every request, outermost first. */
  use?: readonly Middleware[]
  /**
   * Hears of what a member offers and the composition cannot, and of members that fail. Default: writes to stderr where
   * there is one.
   */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
}

/** Several servers as one. */
export interface Composition extends Server {
  /** Adds a member, or replaces the one under this prefix, and tells watchers. @throws McpError 'INVALID' */
  mount(prefix: string, server: Server): void
  /** Takes a member away and tells watchers; a prefix that is not there is no fault. */
  unmount(prefix: string): void
}
