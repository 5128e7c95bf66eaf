import { type Context, defineServer, type Server, tool } from '@jackfield/sdk'
import { bearer } from '@jackfield/sdk/auth'
import { connect, http } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { MetaKey } from '../../../sdk/src/protocol/meta.ts'
import { modern } from '../../../sdk/test/serve/http-support.ts'
import { meta } from '../../../sdk/test/serve/support.ts'
import { serveGateways } from '../../src/gateway/front.ts'
import { hostOf, session, type Watched } from '../fixtures/hosts.ts'
import { text } from './clients.ts'

const tokens = { ann: 'a'.repeat(20), bob: 'b'.repeat(20) }

async function front() {
  const hosts = new Map<string, Watched>()
  const front = await serveGateways({
    tokens,
    open: async (user) => {
      const host = hostOf({ servers: { near: session().config }, defaultVerdict: 'allow' })
      hosts.set(user, host)
      const { server, close } = host.gateway.open()
      await host.start()
      return {
        server,
        close: async () => {
          close()
          await host.close()
        },
      }
    },
  })
  onTestFinished(() => front.close())
  return { front, hosts }
}

async function clientOf(url: string, token: string) {
  const client = await connect(http(url, { headers: { authorization: `Bearer ${token}` } }))
  onTestFinished(() => client.close())
  return client
}

const able = meta({ [MetaKey.clientCapabilities]: { elicitation: { form: {} } } })

/** A server with one tool, which pays if it may. */
function asking(pay: () => void): Server {
  const run = async (_args: unknown, ctx: Context): Promise<string> => {
    const { action } = await ctx.elicit({ message: 'Pay?', schema: z.object({}) })
    if (action === 'accept') pay()
    return action
  }
  return defineServer({ name: 'shop', version: '1.0.0', tools: { pay: tool({ run }) } })
}

/** Calls the tool `look` and returns the HTTP status. */
async function lookAs(user: string, url: string, signal?: AbortSignal): Promise<number> {
  const { headers, body } = modern('tools/call', { name: 'look', _meta: able })
  const accept = 'application/json, text/event-stream'
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept, 'x-user': user },
    body: JSON.stringify(body),
    signal: signal ?? null,
  })
  await response.text()
  return response.status
}

describe('a gateway over HTTP', () => {
  it('separates the connections and activity of its users', async () => {
    const { front: open, hosts } = await front()
    const ann = await clientOf(open.url, tokens.ann)
    const bob = await clientOf(open.url, tokens.bob)
    const again = await clientOf(open.url, tokens.ann)
    const [first, second, third] = await Promise.all(
      [ann, bob, again].map(async (client) => text(await client.call('near__pid'))),
    )
    expect(first).not.toBe(second)
    expect(third).toBe(first)
    expect(hosts.get('ann')?.activity({ kind: 'call' })).toHaveLength(2)
    expect(hosts.get('bob')?.activity({ kind: 'call' })).toHaveLength(1)
  })

  it('gives the reason and the remedy if its port is in use', async () => {
    const { front: open } = await front()
    const { port } = new URL(open.url)
    const second = serveGateways({
      tokens,
      port: Number(port),
      open: () => Promise.reject(new Error('unused')),
    })
    await expect(second).rejects.toThrow(
      `Cannot listen on 127.0.0.1 port ${port}: another program uses it (EADDRINUSE). End that program`,
    )
  })

  it("accepts no answer to another user's question", async () => {
    const paid: string[] = []
    const served = await serveGateways({
      tokens,
      open: async (user) => ({ server: asking(() => paid.push(user)), close: async () => {} }),
    })
    onTestFinished(() => served.close())
    const send = async (token: string, more: object = {}): Promise<Record<string, unknown>> => {
      const ask = modern('tools/call', { name: 'pay', _meta: able, ...more })
      const headers = {
        ...ask.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
      }
      const answer = await fetch(served.url, { method: 'POST', headers, body: JSON.stringify(ask.body) })
      return answer.json()
    }
    const { requestState, inputRequests } = Object((await send(tokens.ann))['result'])
    const [key = ''] = Object.keys(inputRequests)
    const retry = { requestState, inputResponses: { [key]: { action: 'accept', content: {} } } }
    expect(await send(tokens.bob, retry)).toMatchObject({ error: { code: -32602 } })
    expect(paid).toEqual([])
    expect(await send(tokens.ann, retry)).toMatchObject({ result: { content: [{ text: 'accept' }] } })
    expect(paid).toEqual(['ann'])
  })

  it('rejects requests without a token of a user', async () => {
    const { front: open, hosts } = await front()
    for (const authorization of ['', 'Bearer nobody-has-this-token']) {
      const answer = await fetch(open.url, { method: 'POST', headers: { authorization }, body: '{}' })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(hosts.size).toBe(0)
  })

  it('warns once of requests to another path, in words about a gateway', async () => {
    const warnings: string[] = []
    const served = await serveGateways({
      tokens,
      open: async () => ({ server: asking(() => {}), close: async () => {} }),
      onWarning: (message) => warnings.push(message),
    })
    onTestFinished(() => served.close())
    for (const headers of [{}, { authorization: `Bearer ${tokens.ann}` }]) {
      const answer = await fetch(new URL('/wrong', served.url), { method: 'POST', headers, body: '{}' })
      expect(answer.status).toBe(404)
    }
    expect(warnings).toEqual([
      `A client sends requests to /wrong, where nothing is. Give it the address ${served.url}`,
    ])
    const client = await clientOf(`${served.url}?from=test`, tokens.ann)
    expect((await client.tools()).map(({ name }) => name)).toEqual(['pay'])
  })

  it('identifies users by the access tokens of an issuer, and serves its metadata', async () => {
    const issuer = 'https://login.example'
    const resource = 'http://127.0.0.1/mcp'
    const opened: string[] = []
    const served = await serveGateways({
      authenticate: bearer({
        resource,
        authorizationServers: [issuer],
        verify: async (token) => {
          const user = /^token-of-(\w+)$/.exec(token)?.[1]
          return user === undefined
            ? undefined
            : { iss: issuer, sub: user, aud: resource, exp: Date.now() / 1000 + 60 }
        },
      }),
      open: async (user) => {
        opened.push(user)
        const whoami = tool({ run: (_args, { peer }) => String(peer.principal) })
        const server = defineServer({ name: 'shop', version: '1.0.0', tools: { whoami } })
        return { server, close: async () => {} }
      },
    })
    onTestFinished(() => served.close())
    const ann = await clientOf(served.url, 'token-of-ann')
    const bob = await clientOf(served.url, 'token-of-bob')
    expect(text(await ann.call('whoami'))).toBe(`${issuer}|ann`)
    expect(text(await bob.call('whoami'))).toBe(`${issuer}|bob`)
    expect(opened).toEqual([`${issuer}|ann`, `${issuer}|bob`])
    const refused = await fetch(served.url, {
      method: 'POST',
      headers: { authorization: 'Bearer other' },
      body: '{}',
    })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('resource_metadata=')
    const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', served.url))
    expect(await metadata.json()).toMatchObject({ resource, authorization_servers: [issuer] })
    expect(opened).toHaveLength(2)
  })

  it('closes the gateway that was not used for longest for a further user, and none that is used', async () => {
    const events: string[] = []
    const release = new Map<string, () => void>()
    const served = await serveGateways({
      authenticate: async (request) => ({ principal: String(request.header('x-user')) }),
      maxUsers: 2,
      open: async (user) => {
        events.push(`open ${user}`)
        const wait = tool({
          run: () => new Promise<string>((resolve) => release.set(user, () => resolve('done'))),
        })
        const look = tool({ run: () => user })
        const server = defineServer({ name: 'shop', version: '1.0.0', tools: { look, wait } })
        return {
          server,
          close: async () => {
            events.push(`close ${user}`)
          },
        }
      },
    })
    onTestFinished(() => served.close())
    const call = async (user: string, name: string): Promise<number> => {
      const { headers, body } = modern('tools/call', { name, _meta: able })
      const accept = 'application/json, text/event-stream'
      const all = { ...headers, 'content-type': 'application/json', accept, 'x-user': user }
      const answer = await fetch(served.url, { method: 'POST', headers: all, body: JSON.stringify(body) })
      await answer.text()
      return answer.status
    }
    expect([await call('ann', 'look'), await call('bob', 'look'), await call('eve', 'look')]).toEqual([
      200, 200, 200,
    ])
    await vi.waitFor(() =>
      expect(events.toSorted()).toEqual(['close ann', 'open ann', 'open bob', 'open eve']),
    )
    const waits = [call('bob', 'wait'), call('eve', 'wait')]
    await vi.waitFor(() => expect(release.size).toBe(2))
    expect(await call('ann', 'look')).toBe(503)
    for (const end of release.values()) end()
    expect(await Promise.all(waits)).toEqual([200, 200])
    await vi.waitFor(async () => expect(await call('ann', 'look')).toBe(200))
  })

  it('counts no request whose client left while it was authenticated', async () => {
    const asked = Promise.withResolvers<void>()
    const admitted = Promise.withResolvers<void>()
    const served = await serveGateways({
      async authenticate(request) {
        const principal = String(request.header('x-user'))
        if (principal === 'ann') {
          asked.resolve()
          await admitted.promise
        }
        return { principal }
      },
      maxUsers: 1,
      open: async (user) => {
        const look = tool({ run: () => user })
        const server = defineServer({ name: 'shop', version: '1.0.0', tools: { look } })
        return { server, close: async () => {} }
      },
    })
    onTestFinished(() => served.close())
    const leave = new AbortController()
    const left = lookAs('ann', served.url, leave.signal).catch((error: Error) => error.name)
    await asked.promise
    leave.abort()
    expect(await left).toBe('AbortError')
    expect(await lookAs('bob', served.url)).toBe(200)
    admitted.resolve()
    expect(await lookAs('bob', served.url)).toBe(200)
  })

  it('opens no gateway once it is drained', async () => {
    const opened: string[] = []
    const called = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<string>()
    const served = await serveGateways({
      authenticate: async (request) => ({ principal: String(request.header('x-user')) }),
      open: async (user) => {
        opened.push(user)
        const run = (): Promise<string> => {
          called.resolve()
          return ended.promise
        }
        const server = defineServer({ name: 'shop', version: '1.0.0', tools: { look: tool({ run }) } })
        return { server, close: async () => {} }
      },
    })
    const waiting = lookAs('ann', served.url)
    await called.promise
    const drained = served.drain({ settleMs: 50 })
    expect(await lookAs('bob', served.url)).toBe(503)
    ended.resolve('done')
    expect(await waiting).toBe(200)
    await drained
    expect(opened).toEqual(['ann'])
  })

  it('needs either tokens or a function that authenticates', async () => {
    const open = () => Promise.reject(new Error('not opened'))
    await expect(serveGateways({ open })).rejects.toThrow('needs "tokens" or "authenticate"')
    const authenticate = async () => ({ principal: 'ann' })
    await expect(serveGateways({ tokens, authenticate, open })).rejects.toThrow('and not both')
  })

  it('rejects tokens that cannot distinguish users', async () => {
    const open = () => Promise.reject(new Error('not opened'))
    await expect(serveGateways({ tokens: { ann: 'short' }, open })).rejects.toThrow('too short')
    await expect(serveGateways({ tokens: { ann: tokens.ann, bob: tokens.ann }, open })).rejects.toThrow(
      'ann and bob have the same token',
    )
    await expect(serveGateways({ tokens: { ann: 'sha256:00' }, open })).rejects.toThrow(
      'needs 64 hexadecimal digits after "sha256:"',
    )
  })
})
