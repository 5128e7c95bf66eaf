import type { IncomingMessage } from 'node:http'

/** Cookies of the same name that are read: programs on other ports of the machine can set some. */
const maxValues = 4

/** A cookie that scripts cannot read. */
export class Cookie {
  readonly #name: string
  readonly #attributes: string

  /** With the prefix `__Host-` in its name, it is sent over TLS only, and no other host can set it. */
  constructor(name: string, { sameSite }: { sameSite: 'Strict' | 'Lax' }) {
    this.#name = name
    const secureAttribute = name.startsWith('__Host-') ? '; Secure' : ''
    this.#attributes = `Path=/; HttpOnly; SameSite=${sameSite}${secureAttribute}`
  }

  /** The values of this cookie in a request; at most four. */
  valuesIn({ headers }: IncomingMessage): string[] {
    const prefix = `${this.#name}=`
    const pairs = (headers.cookie ?? '').split(/; */).filter((cookie) => cookie.startsWith(prefix))
    return pairs.slice(0, maxValues).map((cookie) => cookie.slice(prefix.length))
  }

  /** The value of a `Set-Cookie` header. `lifeMs`: how long the cookie lasts, in milliseconds; 0 removes it. */
  header(value: string, lifeMs: number): string {
    return `${this.#name}=${value}; ${this.#attributes}; Max-Age=${Math.floor(lifeMs / 1_000)}`
  }
}
