import type { GivenValue } from './consents.ts'
import type { ServerConfig } from './server.ts'
import type { TrustFinding } from './trust.ts'

/** A published server, as the registry describes it. */
export interface RegistryServer {
  /** With the publisher's namespace in front: `io.github.ann/weather`. */
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly version: string
  /** Where its source is. */
  readonly repository?: string
  /** `active`, `deprecated` or `deleted`, where the registry says. */
  readonly status?: string
  /** Whether a later version was published; absent where the registry does not say. */
  readonly isLatest?: boolean
  /** ISO 8601. */
  readonly publishedAt?: string
  /** Kinds of packages and addresses: `npm`, `oci`, `streamable-http`. */
  readonly kinds: readonly string[]
  /** The whole description, in the form of `server.json`. */
  readonly document: Readonly<Record<string, unknown>>
}

/** A client of one registry. Its answers are hostile input. */
export interface Registry {
  readonly url: string
  /**
   * Servers whose name fits; one page.
   * @throws McpError where the registry cannot be reached or answers with something else
   */
  search(
    words: string,
    options?: { cursor?: string; limit?: number; signal?: AbortSignal },
  ): Promise<{ servers: RegistryServer[]; nextCursor?: string }>
  /**
   * One server by its full name, in a version or the latest.
   * @throws McpError 'INVALID' where there is none
   */
  show(name: string, options?: { version?: string; signal?: AbortSignal }): Promise<RegistryServer>
}

/** A value that a server needs before it can be started. */
export interface NeededValue {
  readonly id: string
  readonly description?: string
  /** It is kept as a secret, under this name. */
  readonly secret?: string
  readonly required: boolean
  readonly default?: string
  readonly options?: readonly string[]
  readonly kind: 'text' | 'number' | 'boolean' | 'file' | 'directory'
  /** Several values may be given. */
  readonly multiple?: boolean
  readonly min?: number
  readonly max?: number
}

/** What would be put into the person's own configuration, and what they should know before. */
export interface InstallPlan {
  /** What the server is called here. */
  readonly name: string
  /** Who published it: the namespace of the registry, or the author of a bundle; absent where nobody says. */
  readonly publisher?: string
  readonly version?: string
  /** The exact command line, or the address. Values that are asked for stand as `${input:id}`. */
  readonly command: string
  /** Variables and headers that it is given. */
  readonly given: readonly GivenValue[]
  readonly needs: readonly NeededValue[]
  readonly findings: readonly TrustFinding[]
  /**
   * The server with these values.
   * @throws McpError 'INVALID' where one is missing or does not fit
   */
  config(values: Readonly<Record<string, readonly string[]>>): ServerConfig
}
