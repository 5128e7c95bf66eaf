import { McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { type Lookup, Network, staggered } from '../client/network.ts'
import { type AuthFetch, fetchJson, requireUrl } from './metadata.ts'

/** Milliseconds until a failed request is retried. */
export const retryMs = 5000

export interface IssuerOptions {
  issuer: string
  fetch?: AuthFetch | undefined
  lookup?: Lookup | undefined
  plainHttp: boolean
}

/** Discovers the key set of an issuer by its metadata, on first use. */
export class IssuerKeys {
  readonly #issuer: string
  readonly #fetch: AuthFetch
  readonly #plainHttp: boolean
  readonly #network: Network
  #jwksUri: Promise<URL> | undefined

  constructor(options: IssuerOptions) {
    const { issuer, plainHttp } = options
    this.#issuer = issuer
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init))
    this.#plainHttp = plainHttp
    this.#network = networkOf(options)
  }

  /**
   * Fetches the key set. A host other than the issuer's is checked against private networks first, and only the checked
   * addresses are used.
   */
  async load(url: string, init: RequestInit): Promise<Response> {
    const keys = new URL(url)
    if (keys.hostname === new URL(this.#issuer).hostname) return this.#fetch(url, init)
    try {
      return await this.#network.send(keys, init)
    } catch (cause) {
      if (!(cause instanceof McpError)) throw cause
      throw new McpError(
        'PROTOCOL',
        `The metadata of ${this.#issuer} names ${url} as its key set, which was not fetched: ${cause.message}. If this address is correct, pass it to jwt as "jwksUri"`,
        { cause },
      )
    }
  }

  /** Rejects with an McpError if the metadata is unavailable, or belongs to another issuer. */
  jwksUri(): Promise<URL> {
    if (this.#jwksUri === undefined) {
      const discovery = this.#discover()
      this.#jwksUri = discovery
      discovery.catch(() => setTimeout(() => this.#forget(discovery), retryMs))
    }
    return this.#jwksUri
  }

  #forget(discovery: Promise<URL>): void {
    if (this.#jwksUri === discovery) this.#jwksUri = undefined
  }

  async #discover(): Promise<URL> {
    const { jwks_uri } = await this.#metadata()
    if (typeof jwks_uri !== 'string') {
      throw new McpError('PROTOCOL', `The metadata of ${this.#issuer} has no "jwks_uri"`)
    }
    return requireKeysUrl(jwks_uri, this.#plainHttp)
  }

  async #metadata(): Promise<JsonObject> {
    let failure: unknown
    const fetchMetadata = (url: string, signal: AbortSignal): Promise<JsonObject> =>
      fetchJson(this.#fetch, url, { signal })
    for await (const { place, ...attempt } of staggered(metadataUrls(this.#issuer), fetchMetadata)) {
      if ('answer' in attempt && attempt.answer['issuer'] === this.#issuer) return attempt.answer
      failure =
        'answer' in attempt
          ? new McpError('PROTOCOL', `${place} holds the metadata of another issuer`)
          : attempt.late
            ? new McpError('CONNECT_FAILED', `${place} gave no answer`, { cause: attempt.error })
            : attempt.error
    }
    throw failure
  }
}

/** Access to other hosts than the issuer's, as far as the issuer's own network position allows it. */
function networkOf({ issuer, fetch: own, lookup, plainHttp }: IssuerOptions): Network {
  const at = new URL(issuer)
  if (own === undefined) return new Network(at, { plainHttp, lookup })
  // A custom fetch may resolve names differently, so the system's resolver says nothing about it.
  return new Network(at, { plainHttp, fetch: (url, init) => own(url.href, init), lookup: lookup ?? 'none' })
}

/** The URL of a key set; unlike an identifier it may have a query. */
export function requireKeysUrl(text: string, plainHttp: boolean): URL {
  requireUrl('jwksUri', text.replace(/\?.*$/, ''), plainHttp)
  return new URL(text)
}

/** The metadata URLs of an issuer, in the order of the specification. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  )
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}
