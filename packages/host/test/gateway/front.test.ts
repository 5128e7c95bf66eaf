import { type Context, defineServer, type Server, tool } from '@jackfield/sdk'
import { connect, http } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
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

  it('rejects tokens that cannot distinguish users', async () => {
    const open = () => Promise.reject(new Error('not opened'))
    await expect(serveGateways({ tokens: { ann: 'short' }, open })).rejects.toThrow('too short')
    await expect(serveGateways({ tokens: { ann: tokens.ann, bob: tokens.ann }, open })).rejects.toThrow(
      'ann and bob have the same token',
    )
  })
})
