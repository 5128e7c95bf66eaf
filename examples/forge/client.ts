import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import type { ProtocolVersion } from '@jackfield/sdk'
import { type Client, connect, http } from '@jackfield/sdk/client'
import { startAuthorizationServer } from '../../packages/sdk/test/auth-support/authorization-server.ts'
import { openPage, registerClient, signInAs } from '../browser.ts'
import { startForgeServer } from './server.ts'
import { startForgeStandIn } from './stand-in.ts'

// The parts: the authorization server of MCP clients, the forge, and the MCP server between them.
const as = await startAuthorizationServer()
let serverOrigin = ''
const forge = await startForgeStandIn(() => serverOrigin)
const server = await startForgeServer({
  issuer: as.issuer,
  signInClient: (redirectUri) => registerClient(as.issuer, redirectUri),
  api: forge.origin,
  upstream: {
    authorizeUrl: `${forge.origin}/login/oauth/authorize`,
    tokenUrl: `${forge.origin}/login/oauth/access_token`,
    clientId: forge.clientId,
    clientSecret: forge.clientSecret,
    parameters: { scope: 'repo' },
  },
})
serverOrigin = new URL(server.url).origin
as.addResource(server.url, { scopes: ['issues:read', 'issues:write'] })

forge.addRepository('octo/app', { issues: Array.from({ length: 35 }, (_, at) => `Fault ${at + 1}`) })
forge.addRepository('octo/secret', { private: true, members: ['alice-at-forge'], issues: ['Hidden fault'] })

interface User {
  client: Client
  /** Links that the server asked the user to open. */
  links: string[]
}

/** An MCP client of a user, who opens each link in a browser that is signed in at the forge. */
async function userOf(user: string, revision: ProtocolVersion, opensLinks = true): Promise<User> {
  const links: string[] = []
  const client: Client = await connect(http(server.url, { auth: signInAs(user) }), {
    revisions: [revision],
    ...(revision >= '2025-11-25' ? { elicitation: { url: true } } : {}),
    async onElicit(question) {
      if (question.mode !== 'url') return { action: 'decline' }
      links.push(question.url)
      if (!opensLinks) return { action: 'decline' }
      forge.browserUser = `${user}-at-forge`
      const page = await openPage(question.url, user, as.issuer)
      match(page.text, /is connected/)
      return { action: 'accept' }
    },
  })
  return { client, links }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await wait(10)
}

async function failureOf(
  client: Client,
  tool: string,
  args: Record<string, string | number>,
): Promise<string> {
  const { isError, content } = await client.call(tool, args)
  equal(isError, true)
  return JSON.stringify(content)
}

const app = { repository: 'octo/app' }

// Each user connects their account once, by a link, and is then served with their own token.
const alice = await userOf('alice', '2026-07-28')
const first = await alice.client.call('list_issues', app)
equal(alice.links.length, 1)
equal(Object(first.structuredContent).issues.length, 30)
equal(Object(first.structuredContent).nextPage, 2)
const second = await alice.client.call('list_issues', { ...app, page: 2 })
deepEqual(
  Object(second.structuredContent).issues.map(({ number }: { number: number }) => number),
  [5, 4, 3, 2, 1],
)
equal(Object(second.structuredContent).nextPage, undefined)

const bob = await userOf('bob', '2025-11-25')
const created = await bob.client.call('create_issue', { ...app, title: 'It crashes', labels: ['fault'] })
equal(Object(created.structuredContent).author, 'bob-at-forge')
await bob.client.call('comment_on_issue', { ...app, number: 36, body: 'Every time.' })
const read = await alice.client.call('get_issue', { ...app, number: 36 })
deepEqual(Object(read.structuredContent).comments[0].author, 'bob-at-forge')
deepEqual([alice.links.length, bob.links.length], [1, 1])

// Each user sees only what they may see.
const secret = { repository: 'octo/secret', number: 1 }
equal(Object((await alice.client.call('get_issue', secret)).structuredContent).issue.title, 'Hidden fault')
match(await failureOf(bob.client, 'get_issue', secret), /you may not see it/)
const search = { text: 'hidden repo:octo/secret' }
equal(Object((await alice.client.call('search_issues', { text: 'hidden' })).structuredContent).total, 1)
equal(Object((await bob.client.call('search_issues', search)).structuredContent).total, 0)

// A client without URL elicitation gets the link as text. Only its own user can use it, and only in one browser.
const carol = await userOf('carol', '2025-06-18')
const link = /http:[^ ]+/.exec(await failureOf(carol.client, 'list_issues', app))?.[0] ?? ''
forge.browserUser = 'mallory-at-forge'
const stolen = await openPage(link, 'mallory', as.issuer)
deepEqual([stolen.status, /made for another user/.test(stolen.text)], [403, true])
match(await failureOf(carol.client, 'list_issues', app), /is not connected/)
const fresh = /http:[^ ]+/.exec(await failureOf(carol.client, 'list_issues', app))?.[0] ?? ''
forge.browserUser = 'carol-at-forge'
equal((await openPage(fresh, 'carol', as.issuer)).status, 200)
equal((await openPage(fresh, 'carol', as.issuer)).status, 404)
equal((await carol.client.call('list_issues', app)).isError ?? false, false)

// A user who does not open the link gets nothing, and neither does a callback from elsewhere.
const dave = await userOf('dave', '2026-07-28', false)
match(await failureOf(dave.client, 'list_issues', app), /nothing was done/)
equal((await fetch(`${serverOrigin}/connect/upstream?code=x&state=x`)).status, 400)

// A short rate limit is waited for, a long one reported, and neither is counted as a failure of the account.
const limited = { status: 429, body: { message: 'Slow down' } }
forge.next.push({ ...limited, headers: { 'retry-after': '1' } })
equal((await alice.client.call('list_issues', app)).isError ?? false, false)
forge.next.push({ ...limited, headers: { 'retry-after': '120' } })
match(await failureOf(alice.client, 'list_issues', app), /Try again in 120 s/)
const reset = String(Math.ceil(Date.now() / 1_000) + 600)
const used = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }
forge.next.push({ status: 403, body: { message: 'API rate limit exceeded' }, headers: used })
match(await failureOf(alice.client, 'list_issues', app), /limits the number of requests/)
const invalid = { message: 'Validation Failed', errors: [{ field: 'labels', code: 'invalid' }] }
forge.next.push({ status: 422, body: invalid, headers: {} })
match(await failureOf(alice.client, 'create_issue', { ...app, title: 'x' }), /Validation Failed.*labels/)
forge.next.push({ status: 500, body: {}, headers: {} })
match(await failureOf(alice.client, 'list_issues', app), /The forge failed/)

forge.next.push({
  status: 301,
  body: { message: 'Moved Permanently' },
  headers: { location: '/repositories/1' },
})
match(await failureOf(alice.client, 'list_issues', app), /The repository has moved/)
forge.next.push({ status: 410, body: { message: 'Issues are disabled for this repo' }, headers: {} })
match(await failureOf(alice.client, 'list_issues', app), /Issues are disabled/)

// A response with an invalid body, and a name that would lead to another endpoint.
forge.next.push({ status: 200, body: { unexpected: true }, headers: {} })
match(await failureOf(alice.client, 'list_issues', app), /something unexpected/)
const before = forge.requests.length
match(await failureOf(alice.client, 'list_issues', { repository: '../..' }), /must be owner\/name/)
match(await failureOf(alice.client, 'list_issues', { repository: 'octo/..' }), /must be owner\/name/)
equal(forge.requests.length, before)

// A call that is cancelled cancels its request of the forge, also while it waits for a rate limit.
for (const answer of [
  { status: 0, body: {}, headers: {} },
  { ...limited, headers: { 'retry-after': '10' } },
]) {
  const sent = forge.requests.length
  const cancel = new AbortController()
  forge.next.push(answer)
  const called = alice.client.call('list_issues', app, { signal: cancel.signal })
  await until(() => forge.requests.length === sent + 1)
  cancel.abort()
  await rejects(called, { code: 'CANCELLED' })
}
await until(() => forge.aborted === 1)

// Pull requests are not listed as issues.
forge.addRepository('octo/pulls', { issues: ['A fault'], pullRequests: ['A fix', 'Another fix'] })
const pulls = await alice.client.call('list_issues', { repository: 'octo/pulls' })
deepEqual(
  Object(pulls.structuredContent).issues.map(({ title }: { title: string }) => title),
  ['A fault'],
)

// A revoked connection is renewed.
forge.revoke('alice-at-forge')
match(await failureOf(alice.client, 'list_issues', app), /Try again to connect it anew/)
equal((await alice.client.call('list_issues', app)).isError ?? false, false)
equal(alice.links.length, 2)

// No token passes through: the MCP server refuses tokens of the forge, and the forge only ever saw its own.
const foreign = await fetch(server.url, {
  method: 'POST',
  headers: { authorization: 'Bearer ghu_anything', 'content-type': 'application/json' },
  body: '{}',
})
equal(foreign.status, 401)
const users = new Set(forge.requests.map(({ user }) => user))
deepEqual([...users], ['alice-at-forge', 'bob-at-forge', 'carol-at-forge'])

for (const { client } of [alice, bob, carol, dave]) await client.close()
await server.close()
await forge.close()
await as.close()
console.log(`Three users were served with ${users.size} accounts of the forge, each with their own token.`)
