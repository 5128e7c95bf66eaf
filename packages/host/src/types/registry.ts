import type { GivenValue } from './consents.ts'
import type { ServerConfig } from './server.ts'
import type { TrustFinding } from './trust.ts'

/** An entry of a registry. */
export interface RegistryServer {
  /** With the publisher's namespace: `io.github.ann/weather`. */
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly version: string
  /** The URL of its source. */
  readonly repository?: string
  /** `active`, `deprecated` or `deleted`, if the registry states it. */
  readonly status?: string
  /** Whether this is the latest version; absent if the registry does not state it. */
  readonly isLatest?: boolean
  /** ISO 8601. */
  readonly publishedAt?: string
  /** Kinds of packages and addresses: `npm`, `oci`, `streamable-http`. */
  readonly kinds: readonly string[]
  /** The complete `server.json` document. */
  readonly document: Readonly<Record<string, unknown>>
}

/** A client of one registry. Its responses are untrusted input. */
export interface Registry {
  readonly url: string
  /**
   * One page of servers whose name matches.
   * @throws McpError if the registry cannot be reached or its response is invalid
   */
  search(
    words: string,
    options?: { cursor?: string; limit?: number; signal?: AbortSignal },
  ): Promise<{ servers: RegistryServer[]; nextCursor?: string }>
  /**
   * One server by its full name, in the given or the latest version.
   * @throws McpError 'NOT_FOUND' if there is none
   */
  show(name: string, options?: { version?: string; signal?: AbortSignal }): Promise<RegistryServer>
}

/** A value that a server needs before it can be started. */
export interface NeededValue {
  readonly id: string
  readonly description?: string
  /** It is stored as a secret under this name. */
  readonly secret?: string
  readonly required: boolean
  readonly default?: string
  readonly options?: readonly string[]
  readonly kind: 'text' | 'number' | 'boolean' | 'file' | 'directory'
  /** Several values are allowed. */
  readonly multiple?: boolean
  readonly min?: number
  readonly max?: number
}

/** The configuration entry that an installation adds, and the findings about it. */
export interface InstallPlan {
  /** The server's name in the configuration. */
  readonly name: string
  /** The publisher: the namespace of the registry, or the author of a bundle; absent if unknown. */
  readonly publisher?: string
  readonly version?: string
  /** The exact command line, or the URL. Values to enter appear as `${input:id}`. */
  readonly command: string
  /** The same as words: program and arguments, or the URL alone. */
  readonly words: readonly string[]
  /** Variables and headers it gets. */
  readonly given: readonly GivenValue[]
  readonly needs: readonly NeededValue[]
  readonly findings: readonly TrustFinding[]
  /**
   * The configuration with these values.
   * @throws McpError 'INVALID' if one is missing or invalid
   */
  config(values: Readonly<Record<string, readonly string[]>>): ServerConfig
}

/** The effects of installing a registry server, for review. */
export interface ReviewedInstallation extends Omit<InstallPlan, 'config'> {
  /** For `installs.preview` and `installs.install`; valid for 15 minutes. */
  readonly id: string
  /** The name in the registry. */
  readonly published: string
  readonly description: string
  readonly repository?: string
  /** `deprecated` or `deleted`, if the registry states it. */
  readonly status?: string
  /** SHA-256 of the bundle, or the digest of the container image; absent if the registry gives none. */
  readonly digest?: string
  /** Secrets of `needs` that are stored already. */
  readonly stored: readonly string[]
  /** The configuration has a server with this name already. */
  readonly isKnown: boolean
}
