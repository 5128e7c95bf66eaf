import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject, ProtocolVersion } from '@jackfield/sdk'
import { type Client, connect, http } from '@jackfield/sdk/client'
import { startAuthorizationServer } from '../../packages/sdk/test/auth-support/authorization-server.ts'
import { openPage, registerClient, signInAs } from '../browser.ts'
import { startChatServer } from './server.ts'
import { startChatStandIn } from './stand-in.ts'

// The parts: the authorization server of MCP clients, the chat service, and the MCP server between them.
const as = await startAuthorizationServer()
let serverOrigin = ''
const chat = await startChatStandIn(() => serverOrigin)
const server = await startChatServer({
  issuer: as.issuer,
  signInClient: (redirectUri) => registerClient(as.issuer, redirectUri),
  api: `${chat.origin}/api`,
  upstream: {
    authorizeUrl: `${chat.origin}/oauth/v2/authorize`,
    tokenUrl: `${chat.origin}/api/oauth.v2.access`,
    clientId: chat.clientId,
    clientSecret: chat.clientSecret,
    parameters: { user_scope: 'channels:read,channels:history,groups:read,groups:history,chat:write' },
  },
})
serverOrigin = new URL(server.url).origin
as.addResource(server.url, { scopes: ['chat:read', 'chat:write'] })

const texts = Array.from({ length: 120 }, (_, at) => `Message ${at + 1}`)
const general = chat.addChannel('general', { members: ['U-alice', 'U-bob'], texts })
const staff = chat.addChannel('staff', { members: ['U-alice'], isPrivate: true, texts: ['Between us'] })
const quiet = chat.addChannel('quiet', { members: ['U-bob'] })

/** An MCP client of a user, who opens each link in a browser that is signed in at the chat service. */
async function userOf(user: string, revision: ProtocolVersion): Promise<{ client: Client; links: string[] }> {
  const links: string[] = []
  const client: Client = await connect(http(server.url, { auth: signInAs(user) }), {
    revisions: [revision],
    elicitation: { url: true },
    async onElicit(question) {
      if (question.mode !== 'url') return { action: 'decline' }
      links.push(question.url)
      chat.browserUser = `U-${user}`
      match((await openPage(question.url, user, as.issuer)).text, /is connected/)
      return { action: 'accept' }
    },
  })
  return { client, links }
}

async function resultOf(client: Client, tool: string, args: JsonObject = {}) {
  const { isError, structuredContent, content } = await client.call(tool, args)
  equal(isError ?? false, false, JSON.stringify(content))
  return Object(structuredContent)
}

async function failureOf(client: Client, tool: string, args: JsonObject = {}): Promise<string> {
  const { isError, content } = await client.call(tool, args)
  equal(isError, true)
  return JSON.stringify(content)
}

const namesIn = (channels: { name: string }[]): string[] => channels.map(({ name }) => name)

// Each user sees their own channels, page by page.
const alice = await userOf('alice', '2026-07-28')
const first = await resultOf(alice.client, 'list_channels', { limit: 2 })
deepEqual(namesIn(first.channels), ['general', 'staff'])
const rest = await resultOf(alice.client, 'list_channels', { limit: 2, cursor: first.nextCursor })
deepEqual([namesIn(rest.channels), rest.nextCursor], [['quiet'], undefined])
const bob = await userOf('bob', '2025-11-25')
deepEqual(namesIn((await resultOf(bob.client, 'list_channels')).channels), ['general', 'quiet'])
deepEqual([alice.links.length, bob.links.length], [1, 1])

const newest = await resultOf(bob.client, 'read_history', { channel: general, limit: 100 })
deepEqual([newest.messages.length, newest.messages[0].text], [100, 'Message 120'])
const older = await resultOf(bob.client, 'read_history', {
  channel: general,
  limit: 100,
  cursor: newest.nextCursor,
})
deepEqual([older.messages.length, older.messages.at(-1).text, older.nextCursor], [20, 'Message 1', undefined])
match(
  await failureOf(bob.client, 'read_history', { channel: staff }),
  /no such channel, or you may not see it/,
)
match(await failureOf(alice.client, 'read_history', { channel: quiet }), /not a member/)

// Each user posts as themselves, once, and the text notifies no channel.
const posted = await resultOf(alice.client, 'post_message', { channel: general, text: 'Lunch, <!channel>?' })
const answer = await resultOf(bob.client, 'reply_to_message', {
  channel: general,
  message: posted.id,
  text: 'Yes',
})
const thread = await resultOf(alice.client, 'read_thread', { channel: general, message: posted.id })
deepEqual(
  thread.messages.map(({ id, user, text }: { id: string; user: string; text: string }) => [id, user, text]),
  [
    [posted.id, 'U-alice', 'Lunch, &lt;!channel&gt;?'],
    [answer.id, 'U-bob', 'Yes'],
  ],
)
match(
  await failureOf(bob.client, 'read_thread', { channel: general, message: '1.000000' }),
  /no such message/,
)

// A short rate limit is waited for, a long one reported. A message is not posted twice for it.
const limited = { status: 429, body: { ok: false, error: 'ratelimited' } }
chat.next.push({ ...limited, headers: { 'retry-after': '1' } })
const late = await resultOf(bob.client, 'post_message', { channel: quiet, text: 'Late' })
deepEqual(
  (await resultOf(bob.client, 'read_history', { channel: quiet })).messages.map(
    ({ id }: { id: string }) => id,
  ),
  [late.id],
)
chat.next.push({ ...limited, headers: { 'retry-after': '60' } })
match(await failureOf(bob.client, 'list_channels'), /Try again in 60 s/)
chat.next.push({ status: 200, headers: {}, body: { ok: false, error: 'fatal_error' } })
match(await failureOf(bob.client, 'list_channels'), /The chat service refused: fatal_error/)

// An invalid response of the API, and a call that is cancelled while it waits for a rate limit.
chat.next.push({ status: 502, headers: {}, body: {} })
match(await failureOf(bob.client, 'list_channels'), /status 502/)
chat.next.push({ status: 200, headers: {}, body: { ok: true } })
match(await failureOf(bob.client, 'list_channels'), /something unexpected/)
chat.next.push({ ...limited, headers: { 'retry-after': '10' } })
const cancel = new AbortController()
const sent = chat.requests.length
const called = bob.client.call('post_message', { channel: quiet, text: 'Never' }, { signal: cancel.signal })
while (chat.requests.length === sent) await wait(10)
cancel.abort()
await rejects(called, { code: 'CANCELLED' })
const history = await resultOf(bob.client, 'read_history', { channel: quiet })
equal(history.messages.length, 1)

// Tokens that expire soon are renewed once, also for several requests at the same time.
chat.tokenSeconds = 30
const carol = await userOf('carol', '2026-07-28')
await resultOf(carol.client, 'list_channels')
deepEqual([carol.links.length, chat.renewals], [1, 1])
chat.tokenSeconds = 3600
await Promise.all([1, 2, 3].map(() => resultOf(carol.client, 'list_channels')))
deepEqual([carol.links.length, chat.renewals], [1, 2])

// A connection that was revoked, or lacks a permission, is renewed.
chat.revoke('U-carol')
match(await failureOf(carol.client, 'list_channels'), /Try again to connect it anew/)
chat.agreedScopes = ['channels:read']
await resultOf(carol.client, 'list_channels')
match(
  await failureOf(carol.client, 'read_history', { channel: general }),
  /did not allow this.*channels:history/,
)
equal(carol.links.length, 2)

// No token passes through: the chat service only ever saw its own.
deepEqual([...new Set(chat.requests.map(({ user }) => user))], ['U-alice', 'U-bob', 'U-carol'])

for (const { client } of [alice, bob, carol]) await client.close()
await server.close()
await chat.close()
await as.close()
console.log(`${chat.requests.length} calls of the chat service, each with the token of the user who made it.`)
