import { defineServer, type JsonObject, prompt, resource, type Server, template, tool } from '@jackfield/sdk'
import { type BearerOptions, bearer, jwt } from '@jackfield/sdk/auth'
import type { Authenticate, ServeHttpOptions } from '@jackfield/sdk/http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Adapter, type Answer, type Ask, type Mounted, modern } from '../serve/http-support.ts'
import { initialize } from '../serve/support.ts'

export const issuer = 'https://as.example.com'
export const mcp = 'https://mcp.example.com/mcp'
export const metadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

const { privateKey, publicKey } = await generateKeyPair('ES256')
export const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] }

/** Seconds since 1970, so many from now. */
export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds
}

/** Claims or header members to change; an undefined one is left out. */
export type Changed = Readonly<Record<string, unknown>>

/** A token that is good for `mcp`, with some of it changed. */
export function tokenOf(changed: Changed = {}, header: Changed = {}): Promise<string> {
  const claims = {
    iss: issuer,
    sub: 'alice',
    aud: mcp,
    client_id: 'a-client',
    exp: inSeconds(300),
    ...changed,
  }
  return new SignJWT(asJson(claims))
    .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
    .sign(privateKey)
}

/** What is left of an object once it was written as JSON. */
export function asJson(value: object): JWTPayload {
  return JSON.parse(JSON.stringify(value))
}

/** Who is let in by tokens of `issuer`. */
export function authenticated(options: Partial<BearerOptions> = {}): Authenticate {
  return bearer({
    resource: mcp,
    authorizationServers: [issuer],
    verify: jwt({ issuer, keys }),
    ...options,
  })
}

export function as(token: string, scheme = 'Bearer'): { authorization: string } {
  return { authorization: `${scheme} ${token}` }
}

/** Mounts a server until the end of the test. */
export async function mounted(mount: Adapter, server: Server, options: ServeHttpOptions): Promise<Mounted> {
  const all = await mount(server, options)
  onTestFinished(() => all.close())
  return all
}

/** A server of which some needs a scope, and how often its handlers ran. */
export function shop() {
  const ran: string[] = []
  const refund = tool({
    scopes: ['orders:write', 'orders:read'],
    run: () => {
      ran.push('refund')
      return 'refunded'
    },
  })
  const whoami = tool({
    run: (_args, { peer }) => JSON.stringify({ ...peer, scopes: [...peer.scopes], revision: undefined }),
  })
  const sure = tool({
    async run(_args, ctx) {
      const { action } = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
      ran.push(`sure ${action}`)
      return String(action)
    },
  })
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    cache: { ttlMs: 1000, cacheScope: 'public' },
    tools: { refund, whoami, sure },
    resources: {
      ledger: resource({
        uri: 'shop://ledger',
        scopes: ['orders:read'],
        cache: { cacheScope: 'public' },
        read: () => '7',
      }),
      hours: resource({ uri: 'shop://hours', cache: { cacheScope: 'public' }, read: () => '9 to 5' }),
      order: template({
        uriTemplate: 'shop://orders/{id}',
        scopes: ['orders:read'],
        complete: { id: () => ['1', '2'] },
        list: () => [{ uri: 'shop://orders/1', name: 'First' }],
        read: ({ id }) => `order ${id}`,
      }),
    },
    prompts: {
      complain: prompt({
        scopes: ['orders:read'],
        input: z.object({ about: z.string() }),
        complete: { about: () => ['prices'] },
        run: ({ about }) => about,
      }),
      greet: prompt({ run: () => 'Hello' }),
    },
  })
  return { server, ran }
}

/** The same request in the way of each era; a legacy one in a session of its own. */
export const eras: [string, Requester][] = [
  ['2026-07-28', async (send, headers, method, params) => send(modern(method, params, headers))],
  [
    '2025-11-25',
    async (send, headers, method, params) => {
      const first = await send({ body: initialize('2025-11-25'), headers })
      const session = { 'mcp-session-id': first.header('mcp-session-id') ?? '', ...headers }
      return send({ headers: session, body: { jsonrpc: '2.0', id: 1, method, params: params ?? {} } })
    },
  ],
]

export type Requester = (
  send: (ask?: Ask) => Promise<Answer>,
  headers: NonNullable<Ask['headers']>,
  method: string,
  params?: JsonObject,
) => Promise<Answer>

/** One challenge as a client reads it. */
export interface ReadChallenge {
  readonly scheme: string
  readonly params: Readonly<Record<string, string>>
}

/** Reads a `WWW-Authenticate` header of quoted parameters, by the grammar of RFC 9110, strictly. */
export function readChallenges(header: string): ReadChallenge[] {
  const challenges: { scheme: string; params: Map<string, string> }[] = []
  const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
  const part = new RegExp(`(?:(${token}) )?(${token})="((?:[^"\\\\]|\\\\.)*)"(?:, |$)`, 'y')
  while (part.lastIndex < header.length) {
    const [, scheme, name, value] = part.exec(header) ?? []
    if (name === undefined || value === undefined) throw new Error(`Not a challenge: ${header}`)
    if (scheme !== undefined) challenges.push({ scheme, params: new Map() })
    const { params } = challenges.at(-1) ?? {}
    if (params === undefined || params.has(name)) throw new Error(`Not a challenge: ${header}`)
    params.set(name, value.replace(/\\(.)/g, '$1'))
  }
  return challenges.map(({ scheme, params }) => ({ scheme, params: Object.fromEntries(params) }))
}

/** The one challenge of an answer. */
export function challengeOf(answer: Answer): ReadChallenge {
  const [challenge, ...others] = readChallenges(answer.header('www-authenticate') ?? '')
  if (challenge === undefined || others.length > 0) throw new Error('There is not exactly one challenge')
  return challenge
}
