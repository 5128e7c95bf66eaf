import { connect, http } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveGateways } from '../../src/gateway/index.ts'
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

describe('a gateway over HTTP', () => {
  it('keeps connections and activity of its users apart', async () => {
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

  it('lets nobody in without the token of a user', async () => {
    const { front: open, hosts } = await front()
    for (const authorization of ['', 'Bearer nobody-has-this-token']) {
      const answer = await fetch(open.url, { method: 'POST', headers: { authorization }, body: '{}' })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(hosts.size).toBe(0)
  })

  it('refuses tokens that cannot tell users apart', async () => {
    const open = () => Promise.reject(new Error('not opened'))
    await expect(serveGateways({ tokens: { ann: 'short' }, open })).rejects.toThrow('too short')
    await expect(serveGateways({ tokens: { ann: tokens.ann, bob: tokens.ann }, open })).rejects.toThrow(
      'ann and bob have the same token',
    )
  })
})
