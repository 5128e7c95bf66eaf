import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'

/*
 * A stand-in for the API of a chat service, written from the public description of Slack's Web API: conversations, messages and
 * threads, OAuth with user tokens that expire, pages by cursor, rate limits, and errors with status 200. It keeps everything in
 * memory.
 */

interface Message {
  type: 'message'
  user: string
  text: string
  ts: string
  thread_ts?: string
}

interface Channel {
  id: string
  name: string
  is_private: boolean
  members: string[]
  messages: Message[]
}

interface Token {
  user: string
  scopes: string[]
  expiresAt: number
}

export interface ChatStandIn {
  origin: string
  clientId: string
  clientSecret: string
  /** Calls of methods so far, with the user of their token. */
  readonly requests: readonly { user: string; method: string }[]
  /** Access tokens that were renewed so far. */
  renewals: number
  /** The user who is signed in at the service in a browser, and the scopes that they agree to. */
  browserUser: string
  agreedScopes: string[]
  /** Answers the next calls with these instead. */
  readonly next: { status: number; headers: Record<string, string>; body: object }[]
  /** Seconds that new access tokens are good for. They can be renewed. */
  tokenSeconds: number
  revoke(user: string): void
  addChannel(name: string, options: { members: string[]; isPrivate?: boolean; texts?: string[] }): string
  close(): Promise<void>
}

/** Starts it on a free port of this machine. */
export async function startChatStandIn(redirectOrigin: () => string): Promise<ChatStandIn> {
  const channels = new Map<string, Channel>()
  const codes = new Map<string, { user: string; challenge: string; redirectUri: string }>()
  const tokens = new Map<string, Token>()
  const refreshTokens = new Map<string, { user: string; scopes: string[] }>()
  const requests: { user: string; method: string }[] = []
  let clock = 1_700_000_000

  const server = createServer((request, response) => {
    answer(request).then(
      ({ status = 200, headers = {}, body }) => {
        response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
        response.end(JSON.stringify(body))
      },
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`

  const standIn: ChatStandIn = {
    origin,
    clientId: 'mcp-server',
    clientSecret: randomUUID(),
    requests,
    renewals: 0,
    browserUser: 'U-alice',
    agreedScopes: ['channels:read', 'channels:history', 'groups:read', 'groups:history', 'chat:write'],
    next: [],
    tokenSeconds: 43_200,
    revoke(user) {
      for (const [text, token] of tokens) if (token.user === user) tokens.delete(text)
      for (const [text, token] of refreshTokens) if (token.user === user) refreshTokens.delete(text)
    },
    addChannel(name, { members, isPrivate = false, texts = [] }) {
      const id = `C${String(channels.size + 1).padStart(4, '0')}`
      const channel: Channel = { id, name, is_private: isPrivate, members, messages: [] }
      channels.set(id, channel)
      for (const text of texts) post(channel, members[0] ?? '', text)
      return id
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  interface Answer {
    status?: number
    headers?: Record<string, string>
    body: object
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', origin)
    if (url.pathname === '/oauth/v2/authorize') return authorize(url)
    const text = await textOf(request)
    if (url.pathname === '/api/oauth.v2.access') return { body: exchange(new URLSearchParams(text)) }
    const method = url.pathname.replace(/^\/api\//, '')
    const token = tokens.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
    if (token === undefined) return { body: { ok: false, error: 'invalid_auth' } }
    if (token.expiresAt < Date.now()) return { body: { ok: false, error: 'token_expired' } }
    requests.push({ user: token.user, method })
    const instead = standIn.next.shift()
    if (instead !== undefined) return instead
    const json = request.headers['content-type']?.startsWith('application/json') === true
    const args: Record<string, unknown> = json ? JSON.parse(text) : Object.fromEntries(url.searchParams)
    return { body: call(token, method, args) }
  }

  /** Signs the user of the browser in and agrees at once. */
  function authorize({ searchParams: query }: URL): Answer {
    const redirectUri = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== standIn.clientId || !redirectUri.startsWith(redirectOrigin())) {
      return { status: 400, body: { ok: false, error: 'bad_redirect_uri' } }
    }
    const to = new URL(redirectUri)
    to.searchParams.set('state', query.get('state') ?? '')
    const code = randomUUID()
    codes.set(code, { user: standIn.browserUser, challenge: query.get('code_challenge') ?? '', redirectUri })
    to.searchParams.set('code', code)
    return { status: 302, headers: { location: to.href }, body: {} }
  }

  function exchange(form: URLSearchParams): object {
    if (form.get('client_id') !== standIn.clientId || form.get('client_secret') !== standIn.clientSecret) {
      return { ok: false, error: 'bad_client_secret' }
    }
    const refresh = refreshTokens.get(form.get('refresh_token') ?? '')
    if (refresh !== undefined) {
      // A refresh token can be used once.
      refreshTokens.delete(form.get('refresh_token') ?? '')
      standIn.renewals++
      return { ok: true, ...issue(refresh.user, refresh.scopes) }
    }
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (code?.challenge !== challenge || code.redirectUri !== form.get('redirect_uri')) {
      return { ok: false, error: 'invalid_code' }
    }
    return {
      ok: true,
      team: { id: 'T1' },
      authed_user: { id: code.user, ...issue(code.user, standIn.agreedScopes) },
    }
  }

  function issue(user: string, scopes: string[]): object {
    const { tokenSeconds } = standIn
    const [access, refresh] = [`xoxe.xoxp-${randomUUID()}`, `xoxe-1-${randomUUID()}`]
    tokens.set(access, { user, scopes, expiresAt: Date.now() + tokenSeconds * 1_000 })
    refreshTokens.set(refresh, { user, scopes })
    return {
      access_token: access,
      refresh_token: refresh,
      expires_in: tokenSeconds,
      token_type: 'user',
      scope: scopes.join(','),
    }
  }

  function call({ user, scopes }: Token, method: string, args: Record<string, unknown>): object {
    const needed: Readonly<Record<string, string>> = {
      'conversations.list': 'channels:read',
      'conversations.history': 'channels:history',
      'conversations.replies': 'channels:history',
      'chat.postMessage': 'chat:write',
    }
    const scope = needed[method]
    if (scope === undefined) return { ok: false, error: 'unknown_method' }
    if (!scopes.includes(scope))
      return { ok: false, error: 'missing_scope', needed: scope, provided: scopes.join(',') }
    if (method === 'conversations.list') {
      const seen = [...channels.values()].filter(
        ({ is_private, members }) => !is_private || members.includes(user),
      )
      const { items, ...rest } = page(seen, args)
      const shown = items.map(({ id, name, is_private, members }) => ({
        id,
        name,
        is_private,
        is_member: members.includes(user),
        num_members: members.length,
      }))
      return { ok: true, channels: shown, ...rest }
    }
    const channel = channels.get(String(args['channel']))
    if (channel === undefined || (channel.is_private && !channel.members.includes(user))) {
      return { ok: false, error: 'channel_not_found' }
    }
    if (!channel.members.includes(user)) return { ok: false, error: 'not_in_channel' }
    if (method === 'chat.postMessage') {
      const text = String(args['text'] ?? '')
      if (text === '') return { ok: false, error: 'no_text' }
      const thread = args['thread_ts']
      const message = post(channel, user, text, typeof thread === 'string' ? thread : undefined)
      return { ok: true, channel: channel.id, ts: message.ts, message }
    }
    const ts = args['ts']
    if (method === 'conversations.replies' && !channel.messages.some((message) => message.ts === ts)) {
      return { ok: false, error: 'thread_not_found' }
    }
    const found =
      method === 'conversations.replies'
        ? channel.messages.filter((message) => message.ts === ts || message.thread_ts === ts)
        : channel.messages.filter((message) => message.thread_ts === undefined).toReversed()
    const { items, ...rest } = page(found, args)
    const messages = items.map((message) => {
      const replies = channel.messages.filter(({ thread_ts }) => thread_ts === message.ts).length
      return replies === 0 ? message : { ...message, thread_ts: message.ts, reply_count: replies }
    })
    return { ok: true, messages, has_more: rest.response_metadata.next_cursor !== '', ...rest }
  }

  /** One page of a list, with the cursor of the next in the metadata. */
  function page<T>(all: readonly T[], args: Record<string, unknown>) {
    const limit = Math.min(200, Number(args['limit'] ?? 100))
    const cursor = String(args['cursor'] ?? '')
    const from = cursor === '' ? 0 : Number(Buffer.from(cursor, 'base64').toString('latin1'))
    const more = all.length > from + limit
    const next = more ? Buffer.from(String(from + limit)).toString('base64') : ''
    return { items: all.slice(from, from + limit), response_metadata: { next_cursor: next } }
  }

  function post(channel: Channel, user: string, text: string, thread?: string): Message {
    const message: Message = {
      type: 'message',
      user,
      text,
      ts: `${clock++}.000100`,
      ...(thread === undefined ? {} : { thread_ts: thread }),
    }
    channel.messages.push(message)
    return message
  }

  return standIn
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
