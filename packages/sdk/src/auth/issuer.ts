import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { type AuthFetch, fetchJson } from './fetch-json.ts'
import { requireUrl } from './metadata.ts'

/** Milliseconds before metadata that could not be had is asked for again. */
const retryMs = 5000

/** Finds where an issuer's keys are, in its own metadata; asked for at first use, and kept. */
export class IssuerKeys {
  readonly #issuer: string
  readonly #fetch: AuthFetch
  readonly #plainHttp: boolean
  #found: Promise<URL> | undefined

  constructor(issuer: string, fetch: AuthFetch, plainHttp: boolean) {
    this.#issuer = issuer
    this.#fetch = fetch
    this.#plainHttp = plainHttp
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
    for (const url of metadataUrls(this.#issuer)) {
      try {
        const metadata = await fetchJson(this.#fetch, url)
        if (metadata['issuer'] === this.#issuer) return metadata
        failure = new McpError('PROTOCOL', `${url} holds the metadata of another issuer`)
      } catch (error) {
        failure = error
      }
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
