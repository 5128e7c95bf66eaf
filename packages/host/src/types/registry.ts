import type { GivenValue } from './consents.ts'
import type { ServerConfig } from './server.ts'
import type { TrustFinding } from './trust.ts'

/** An entry of a registry. */
export interface RegistryServer {
  /** With the publisher's namespace: `io.github.ann/weather`. */
  readonly name: string
  /** The title for display; absent if the registry has none. Unsanitized. */
  readonly title?: string
  /** The description. Unsanitized. */
  readonly description: string
  /** The version of this entry. */
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
  /** The base URL of the registry's API. */
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
  /** The name in `${input:id}`. */
  readonly id: string
  /** The publisher's description. Unsanitized. */
  readonly description?: string
  /** It is stored as a secret under this name. */
  readonly secret?: string
  /** Whether the server cannot be installed without a value. */
  readonly required: boolean
  /** The value if nothing is entered. */
  readonly default?: string
  /** The allowed values. Default any of its kind. */
  readonly options?: readonly string[]
  /** The type of the value. */
  readonly kind: 'text' | 'number' | 'boolean' | 'file' | 'directory'
  /** Whether several values are allowed. */
  readonly multiple?: boolean
  /** The minimum of a number. */
  readonly min?: number
  /** The maximum of a number. */
  readonly max?: number
}

/** The configuration entry that an installation adds, and the findings about it. */
export interface InstallPlan {
  /** The server's name in the configuration. */
  readonly name: string
  /** The publisher: the namespace of the registry, or the author of a bundle; absent if unknown. */
  readonly publisher?: string
  /** The version that is installed; absent if unknown. */
  readonly version?: string
  /** The exact command line, or the URL. Values to enter appear as `${input:id}`. */
  readonly command: string
  /** The same, split: program and arguments, or the URL alone. */
  readonly words: readonly string[]
  /** Variables and headers it gets. */
  readonly given: readonly GivenValue[]
  /** The values to enter. */
  readonly needs: readonly NeededValue[]
  /** Warnings about the server and its command. */
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
  /** The description in the registry. Unsanitized. */
  readonly description: string
  /** The URL of its source. */
  readonly repository?: string
  /** `deprecated` or `deleted`, if the registry states it. */
  readonly status?: string
  /** SHA-256 of the bundle, or the digest of the container image; absent if the registry gives none. */
  readonly digest?: string
  /** Secrets of `needs` that are stored already. */
  readonly stored: readonly string[]
  /** Whether the configuration has a server with this name already. */
  readonly isKnown: boolean
}
