import { type Client, type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { type Authorization, type OAuthOptions, oauth, type Redirect } from '@jackfield/sdk/client/auth'
import { onTestFinished } from 'vitest'
import { called, listed } from '../../client/support/results.ts'
import { type Authority, authority } from './authority.ts'
import { type Hand, json, listen, type Seen } from './server.ts'

/** A protected MCP server of the stateless era, written by hand, with the authorization server it names. */
export interface ProtectedServer extends Hand {
  readonly url: string
  readonly as: Authority
  /** Its protected resource metadata; undefined for none. */
  resource: Record<string, unknown> | undefined
  /** Where that is. */
  resourcePath: string
  /** Takes over every well-known place where it returns true. */
  onResource: (seen: Seen) => boolean
  /** The `WWW-Authenticate` of a 401; undefined for none. */
  challenge: string | string[] | undefined
  /** Whether a token is good for a message; a text is the `WWW-Authenticate` of a 403. */
  allows: (token: string, message: { method?: string }) => boolean | string | Promise<boolean | string>
  /** The text of the result of a call with a token. */
  says: (token: string) => string
  /** The tool calls that were answered. */
  readonly calls: Seen[]
}

export async function protectedServer(as?: Authority): Promise<ProtectedServer> {
  const own = as ?? (await authority())
  const hand = await listen((seen) => {
    if (seen.url.pathname.startsWith('/.well-known/') && self.onResource(seen)) return
    if (seen.url.pathname === self.resourcePath && self.resource !== undefined) {
      return json(seen.res, self.resource)
    }
    if (seen.url.pathname !== '/mcp') return json(seen.res, {}, 404)
    if (seen.method !== 'POST') return json(seen.res, {}, 405)
    serve(seen)
  })

  async function serve(seen: Seen): Promise<void> {
    const { res, headers, body } = seen
    const message = JSON.parse(body)
    const token = /^(?:Bearer|DPoP) (\S+)$/.exec(headers.authorization ?? '')?.[1]
    const allowed = token !== undefined && (await self.allows(token, message))
    if (allowed === false) {
      const challenge = self.challenge === undefined ? {} : { 'www-authenticate': self.challenge }
      return json(res, { error: 'invalid_token' }, 401, challenge)
    }
    if (typeof allowed === 'string') return json(res, {}, 403, { 'www-authenticate': allowed })
    const answer = (result: object): void => json(res, { jsonrpc: '2.0', id: message.id, result })
    if (message.method === 'server/discover') {
      return answer(listed({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }))
    }
    if (message.method === 'tools/list')
      return answer(listed({ tools: [{ name: 'x', inputSchema: { type: 'object' } }] }))
    calls.push(seen)
    answer(called({ content: [{ type: 'text', text: self.says(token) }] }))
  }

  const calls: Seen[] = []
  const url = `${hand.origin}/mcp`
  const self: ProtectedServer = {
    ...hand,
    url,
    as: own,
    resource: { resource: url, authorization_servers: [own.issuer] },
    resourcePath: '/.well-known/oauth-protected-resource/mcp',
    onResource: () => false,
    challenge: 'Bearer',
    allows: (token) => own.good.has(token),
    says: () => 'done',
    calls,
  }
  onTestFinished(() => {
    hand.close()
    own.close()
  })
  return self
}

export interface Agreeing extends Redirect {
  /** The login pages that were opened. */
  readonly opened: URL[]
}

/** A person who goes wherever the login page sends them. */
export function agreeing(uri = 'http://127.0.0.1:3456/callback'): Agreeing {
  const opened: URL[] = []
  return {
    opened,
    begin: async () => ({
      uri,
      async open(url, signal) {
        opened.push(url)
        const { headers } = await fetch(url, { redirect: 'manual', signal })
        return new URL(headers.get('location') ?? '', url)
      },
      close: async () => {},
    }),
  }
}

/** Credentials of a person who agrees, and what they were shown. */
export function person(more: Partial<OAuthOptions> = {}): { auth: Authorization; opened: URL[] } {
  const redirect = agreeing()
  return { auth: oauth({ client: { name: 'test' }, redirect, ...more }), opened: redirect.opened }
}

/** A client of a protected server, gone when the test is over. */
export async function open(
  { url }: { url: string },
  auth: Authorization,
  options: ConnectOptions = {},
): Promise<Client> {
  const client = await connect(http(url, { auth }), { revisions: ['2026-07-28'], ...options })
  onTestFinished(() => client.close())
  return client
}
