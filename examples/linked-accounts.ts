import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, ToolError } from '@jackfield/sdk'
import { createRemoteJWKSet, jwtVerify } from 'jose'

/*
 * The accounts that users of an MCP server have at an upstream API. A user signs in twice, at two authorization servers:
 *
 *   MCP client --(token for this MCP server)--> MCP server --(token for the upstream API)--> upstream API
 *
 * The client's token is issued for the MCP server and never leaves it; the upstream would have to accept tokens that were meant for
 * another audience. The upstream's token is issued to the MCP server for one user and is never sent to the client.
 *
 * The second sign-in is a page that the user opens (URL elicitation). Whoever opens it could be another person, who was sent the
 * link by the caller and would connect their own account to the caller's. So the page first has the user sign in where MCP
 * clients do, and goes on only if that is the caller.
 */

/** The OAuth endpoints of the upstream, and this server as a client of it. */
export interface UpstreamOAuth {
  /** For the person, such as "the forge". */
  name: string
  authorizeUrl: string
  tokenUrl: string
  clientId: string
  clientSecret: string
  /** Parameters of the authorization request besides those of OAuth, such as the scope. */
  parameters: Readonly<Record<string, string>>
  /** Reads a token response, whose form differs between services. Undefined if it is a failure. */
  readTokens(body: unknown): UpstreamTokens | undefined
}

export interface UpstreamTokens {
  accessToken: string
  refreshToken?: string | undefined
  /** Seconds. Absent: does not expire. */
  expiresIn?: number | undefined
}

/** This server as a client of the authorization server that issues the tokens of MCP clients. */
export interface SignInClient {
  issuer: string
  clientId: string
  clientSecret: string
}

interface StoredTokens extends UpstreamTokens {
  expiresAt: number
}

/** A link that was given to a user, on its way through the two sign-ins. */
interface Pending {
  principal: string
  expiresAt: number
  /** The cookie of the browser that opened the link. The rest must happen in the same one. */
  browser?: string
  step?: 'sign-in' | 'upstream'
  state?: string
  verifier?: string
  nonce?: string
}

const linkLifetimeMs = 600_000
const mostLinks = 10_000
const waitForLinkMs = 300_000
const refreshBeforeMs = 60_000
const requestMs = 10_000
const cookieName = 'connect'

export class LinkedAccounts {
  readonly #origin: string
  readonly #upstream: UpstreamOAuth
  readonly #signIn: SignInClient
  readonly #onLinked: (id: string) => void
  /** Upstream tokens by principal. A deployment keeps them encrypted in a database. */
  readonly #tokens = new Map<string, StoredTokens>()
  readonly #pending = new Map<string, Pending>()
  readonly #refreshing = new Map<string, Promise<StoredTokens | undefined>>()
  readonly #waiting = new Map<string, Set<() => void>>()

  /** @param onLinked called with the id of a link when its account is connected, for `server.elicitationComplete` */
  constructor(options: {
    /** The origin of this server, which browsers open. */
    origin: string
    upstream: UpstreamOAuth
    signIn: SignInClient
    onLinked: (id: string) => void
  }) {
    this.#origin = options.origin
    this.#upstream = options.upstream
    this.#signIn = options.signIn
    this.#onLinked = options.onLinked
  }

  /**
   * The upstream token of the caller. Without one, the user is asked to connect their account.
   * @throws ToolError if the account is not connected in the end
   */
  async tokenFor(ctx: Context): Promise<string> {
    const principal = principalOf(ctx)
    const { name } = this.#upstream
    // Recorded, so that the handler takes the same way when it runs again after the question.
    const link = await ctx.step('link', async () =>
      (await this.#validTokens(principal)) === undefined ? this.#begin(principal) : null,
    )
    if (link !== null) {
      if (!ctx.can('elicitation.url')) {
        throw new ToolError(
          `Your account at ${name} is not connected. Open ${link.url} in a browser, then try again.`,
        )
      }
      const { action } = await ctx.elicitUrl({
        key: 'link',
        message: `Connect your account at ${name}, so that this server can use it for you.`,
        ...link,
      })
      if (action !== 'accept')
        throw new ToolError(`Your account at ${name} is not connected, so nothing was done.`)
      await this.#whenLinked(principal, ctx.signal)
    }
    const tokens = await this.#validTokens(principal)
    if (tokens !== undefined) return tokens.accessToken
    throw new ToolError(`Your account at ${name} was not connected in time. Try again.`)
  }

  /** Forgets the upstream tokens of the caller, which the upstream does not accept any more. */
  forget(ctx: Context): void {
    this.#tokens.delete(principalOf(ctx))
  }

  /** Serves the pages below `/connect`. Returns false for other requests. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const url = new URL(request.url ?? '/', this.#origin)
    const steps: Readonly<Record<string, (url: URL, cookie: string | undefined) => Promise<Page>>> = {
      '/connect': (to) => this.#open(to),
      '/connect/sign-in': (to, cookie) => this.#signedIn(to, cookie),
      '/connect/upstream': (to, cookie) => this.#connected(to, cookie),
    }
    const step = steps[url.pathname]
    if (step === undefined) return false
    const page =
      request.method === 'GET'
        ? await step(url, cookieIn(request)).catch(() =>
            failure(502, 'A sign-in service cannot be reached. Try again.'),
          )
        : failure(405, 'Open this page with GET.')
    response.writeHead(page.status, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      ...page.headers,
    })
    response.end(page.text)
    return true
  }

  /** A new link for a user. It replaces an older one. */
  #begin(principal: string): { id: string; url: string } {
    const now = Date.now()
    for (const [id, pending] of this.#pending) {
      if (pending.expiresAt < now || pending.principal === principal) this.#pending.delete(id)
    }
    if (this.#pending.size >= mostLinks)
      throw new ToolError('Too many accounts are being connected. Try again later.')
    const id = random()
    this.#pending.set(id, { principal, expiresAt: now + linkLifetimeMs })
    return { id, url: `${this.#origin}/connect?id=${id}` }
  }

  /** The first page: has the user sign in where MCP clients do. */
  async #open(url: URL): Promise<Page> {
    const pending = this.#pending.get(url.searchParams.get('id') ?? '')
    if (pending === undefined || pending.expiresAt < Date.now()) {
      return failure(404, 'This link has expired or was used. Ask for a new one.')
    }
    const [state, verifier, nonce, browser] = [random(), random(), random(), random()]
    Object.assign(pending, { step: 'sign-in', state, verifier, nonce, browser })
    const { authorization_endpoint: endpoint } = await this.#metadata()
    const query = { client_id: this.#signIn.clientId, scope: 'openid', nonce }
    const to = this.#authorizeUrl(endpoint, '/connect/sign-in', state, verifier, query)
    const secure = this.#origin.startsWith('https:') ? '; Secure' : ''
    const cookie = `${cookieName}=${browser}; Path=/connect; HttpOnly; SameSite=Lax; Max-Age=600${secure}`
    return { status: 302, text: '', headers: { location: to, 'set-cookie': cookie } }
  }

  /** The user has signed in: redirects to the upstream if the link was made for them. */
  async #signedIn(url: URL, cookie: string | undefined): Promise<Page> {
    const found = this.#takePending(url, cookie, 'sign-in')
    if (found === undefined)
      return failure(400, 'This sign-in was not started here, or was used. Ask for a new link.')
    const [id, pending] = found
    const { token_endpoint: endpoint, jwks_uri: keys } = await this.#metadata()
    const { issuer, clientId } = this.#signIn
    const body = await this.#exchange(endpoint, this.#signIn, url, '/connect/sign-in', pending.verifier)
    const idToken = memberOf(body, 'id_token')
    if (typeof idToken !== 'string') return failure(403, 'You did not sign in, so nothing was connected.')
    const { payload } = await jwtVerify(idToken, createRemoteJWKSet(new URL(keys)), {
      issuer,
      audience: clientId,
    })
    if (payload['nonce'] !== pending.nonce || `${issuer}|${payload.sub}` !== pending.principal) {
      this.#pending.delete(id)
      return failure(
        403,
        'This link was made for another user, so nothing was connected. Do not open links of others.',
      )
    }
    const [state, verifier] = [random(), random()]
    Object.assign(pending, { step: 'upstream', state, verifier })
    const { authorizeUrl, clientId: upstreamClient, parameters } = this.#upstream
    const query = { client_id: upstreamClient, ...parameters }
    const to = this.#authorizeUrl(authorizeUrl, '/connect/upstream', state, verifier, query)
    return { status: 302, text: '', headers: { location: to } }
  }

  /** The user has agreed at the upstream: stores the tokens for them. */
  async #connected(url: URL, cookie: string | undefined): Promise<Page> {
    const found = this.#takePending(url, cookie, 'upstream')
    if (found === undefined)
      return failure(400, 'This sign-in was not started here, or was used. Ask for a new link.')
    const [id, { principal, verifier }] = found
    this.#pending.delete(id)
    const { tokenUrl, name } = this.#upstream
    const body = await this.#exchange(tokenUrl, this.#upstream, url, '/connect/upstream', verifier)
    const tokens = this.#upstream.readTokens(body)
    if (tokens === undefined) return failure(403, `${name} did not agree, so nothing was connected.`)
    this.#store(principal, tokens)
    this.#onLinked(id)
    for (const wake of this.#waiting.get(principal) ?? []) wake()
    return { status: 200, text: `Your account at ${name} is connected. You can close this page.` }
  }

  /** The link whose sign-in a browser returns from. Its state can be used once. */
  #takePending(url: URL, cookie: string | undefined, step: Pending['step']): [string, Pending] | undefined {
    const state = url.searchParams.get('state')
    for (const [id, pending] of this.#pending) {
      if (state === null || pending.state !== state || pending.step !== step) continue
      if (cookie === undefined || pending.browser !== cookie || pending.expiresAt < Date.now())
        return undefined
      delete pending.state
      return [id, pending]
    }
    return undefined
  }

  #authorizeUrl(
    endpoint: string,
    path: string,
    state: string,
    verifier: string,
    query: Readonly<Record<string, string>>,
  ): string {
    const url = new URL(endpoint)
    const parameters = {
      response_type: 'code',
      redirect_uri: this.#origin + path,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...query,
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /** Exchanges the code in a callback URL. Undefined if the callback has an error instead. */
  async #exchange(
    endpoint: string,
    client: { clientId: string; clientSecret: string },
    callback: URL,
    path: string,
    verifier = '',
  ): Promise<unknown> {
    const code = callback.searchParams.get('code')
    if (code === null) return undefined
    return postForm(endpoint, client, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#origin + path,
      code_verifier: verifier,
    })
  }

  async #metadata(): Promise<{ authorization_endpoint: string; token_endpoint: string; jwks_uri: string }> {
    const { issuer } = this.#signIn
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, {
      signal: AbortSignal.timeout(requestMs),
      redirect: 'error',
    })
    const body: unknown = await response.json()
    const member = (name: string): string => {
      const value = memberOf(body, name)
      if (typeof value !== 'string') throw new Error(`The metadata of ${issuer} has no ${name}`)
      return value
    }
    if (member('issuer') !== issuer) throw new Error(`The metadata of ${issuer} is that of another issuer`)
    return {
      authorization_endpoint: member('authorization_endpoint'),
      token_endpoint: member('token_endpoint'),
      jwks_uri: member('jwks_uri'),
    }
  }

  /** Tokens that are not about to expire: stored, or renewed once for all requests that need them. */
  async #validTokens(principal: string): Promise<StoredTokens | undefined> {
    const stored = this.#tokens.get(principal)
    if (stored === undefined || stored.expiresAt - refreshBeforeMs > Date.now()) return stored
    if (stored.refreshToken === undefined) {
      if (stored.expiresAt < Date.now()) this.#tokens.delete(principal)
      return this.#tokens.get(principal)
    }
    const running = this.#refreshing.get(principal) ?? this.#refresh(principal, stored)
    this.#refreshing.set(principal, running)
    try {
      return await running
    } finally {
      this.#refreshing.delete(principal)
    }
  }

  async #refresh(principal: string, { refreshToken }: StoredTokens): Promise<StoredTokens | undefined> {
    const { tokenUrl, name } = this.#upstream
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken ?? '' }
    const body = await postForm(tokenUrl, this.#upstream, form).catch((error: unknown) => {
      throw new ToolError(
        `The connection to your account at ${name} cannot be renewed now. Try again later.`,
        {
          cause: error,
        },
      )
    })
    const tokens = this.#upstream.readTokens(body)
    if (tokens !== undefined) return this.#store(principal, { refreshToken, ...tokens })
    this.#tokens.delete(principal)
    return undefined
  }

  #store(principal: string, tokens: UpstreamTokens): StoredTokens {
    const { expiresIn } = tokens
    const expiresAt = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1_000
    const stored = { ...tokens, expiresAt }
    this.#tokens.set(principal, stored)
    return stored
  }

  /** Resolves when the account is connected, after some minutes without, or when the request is cancelled. */
  async #whenLinked(principal: string, signal: AbortSignal): Promise<void> {
    if (this.#tokens.has(principal)) return
    const waiting = this.#waiting.get(principal) ?? new Set()
    this.#waiting.set(principal, waiting)
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        waiting.delete(done)
        if (waiting.size === 0) this.#waiting.delete(principal)
        resolve()
      }
      const timer = setTimeout(done, waitForLinkMs)
      signal.addEventListener('abort', done, { once: true })
      waiting.add(done)
    })
    signal.throwIfAborted()
  }
}

interface Page {
  status: number
  text: string
  headers?: Readonly<Record<string, string>>
}

function failure(status: number, text: string): Page {
  return { status, text }
}

function principalOf({ peer }: Context): string {
  if (peer.principal === null) throw new Error('This server needs "authenticate"')
  return peer.principal
}

function random(): string {
  return randomBytes(32).toString('base64url')
}

function cookieIn(request: IncomingMessage): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(/; */).map((pair) => pair.split('='))
  return pairs.find(([name]) => name === cookieName)?.[1]
}

/** A member of a value that was parsed from JSON. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

async function postForm(
  url: string,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
  form: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(requestMs),
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret }),
  })
  // What else it answers is a refusal, whose form differs between services.
  if (response.status >= 500) throw new Error(`${url} answered ${response.status}`)
  return response.json()
}
