import { McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { type Lookup, type Network, staggered } from '../client/network.ts'
import { type AuthFetch, fetchJson, requireUrl } from './metadata.ts'

/** Milliseconds before what could not be had is asked for again. */
export const retryMs = 5000

/** How an issuer is asked for its keys. */
export interface IssuerOptions {
  issuer: string
  fetch?: AuthFetch | undefined
  lookup?: Lookup | undefined
  plainHttp: boolean
}

/** Finds where an issuer's keys are, in its own metadata; asked for at first use, and kept. */
export class IssuerKeys {
  readonly #issuer: string
  readonly #fetch: AuthFetch
  readonly #plainHttp: boolean
  /** Loaded only where the keys are at another host. */
  readonly #elsewhere: () => Promise<Network>
  #found: Promise<URL> | undefined

  constructor(options: IssuerOptions) {
    const { issuer, plainHttp } = options
    this.#issuer = issuer
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init))
    this.#plainHttp = plainHttp
    let network: Network | undefined
    this.#elsewhere = async () => {
      const { issuerNetwork } = await import('./elsewhere.ts')
      network ??= issuerNetwork(options)
      return network
    }
  }

  /**
   * Fetches keys from where the metadata said they are. What is not the issuer's own host is checked first, since it
   * was chosen by somebody else, and reached by no other addresses than those that were checked.
   */
  async load(url: string, init: RequestInit): Promise<Response> {
    const keys = new URL(url)
    if (keys.hostname === new URL(this.#issuer).hostname) return this.#fetch(url, init)
    const network = await this.#elsewhere()
    try {
      return await network.send(keys, init)
    } catch (cause) {
      if (!(cause instanceof McpError)) throw cause
      throw new McpError(
        'PROTOCOL',
        `${this.#issuer} says that its keys are at ${url}, where they were not asked for: ${cause.message}. If they are meant to be there, give jwt this address as "jwksUri"`,
        { cause },
      )
    }
  }

  /** Rejects with an McpError when the metadata cannot be had, or is that of another issuer. */
  jwksUri(): Promise<URL> {
    if (this.#found === undefined) {
      const finding = this.#find()
      this.#found = finding
      finding.catch(() => setTimeout(() => this.#forget(finding), retryMs))
    }
    return this.#found
  }

  #forget(finding: Promise<URL>): void {
    if (this.#found === finding) this.#found = undefined
  }

  async #find(): Promise<URL> {
    const { jwks_uri } = await this.#metadata()
    if (typeof jwks_uri !== 'string') {
      throw new McpError('PROTOCOL', `The metadata of ${this.#issuer} does not say where its keys are`)
    }
    return requireKeysUrl(jwks_uri, this.#plainHttp)
  }

  async #metadata(): Promise<JsonObject> {
    let failure: unknown
    const ask = (url: string, signal: AbortSignal): Promise<JsonObject> =>
      fetchJson(this.#fetch, url, { signal })
    for await (const { place, ...came } of staggered(metadataUrls(this.#issuer), ask)) {
      if ('answer' in came && came.answer['issuer'] === this.#issuer) return came.answer
      failure =
        'answer' in came
          ? new McpError('PROTOCOL', `${place} holds the metadata of another issuer`)
          : came.late
            ? new McpError('CONNECT_FAILED', `${place} gave no answer`, { cause: came.error })
            : came.error
    }
    throw failure
  }
}

/** The address of a key set, which unlike an identifier may have a query. */
export function requireKeysUrl(text: string, plainHttp: boolean): URL {
  requireUrl('jwksUri', text.replace(/\?.*$/, ''), plainHttp)
  return new URL(text)
}

/** Where the metadata of an issuer may stand, in the order the specification gives. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  )
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}
