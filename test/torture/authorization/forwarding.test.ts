import { createServer, connect as dial } from 'node:net'
import { defineServer, type ProtocolVersion, prompt, resource, tool } from '@jackfield/sdk'
import { bearer, jwt } from '@jackfield/sdk/auth'
import { type Client, connect, http } from '@jackfield/sdk/client'
import { compose, proxy } from '@jackfield/sdk/compose'
import { type Authenticate, serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { serveGateways } from '../../../packages/host/src/gateway/front.ts'
import { hostOf } from '../../../packages/host/test/fixtures/hosts.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { good, issuer, keys, mcp } from './forgery.ts'

const revisions: [ProtocolVersion, ProtocolVersion] = ['2026-07-28', '2025-11-25']

/** A server with something of each kind. */
const upstream = () =>
  defineServer({
    name: 'upstream',
    version: '1.0.0',
    tools: { echo: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text }) },
    resources: { note: resource({ uri: 'note://one', read: () => 'one' }) },
    prompts: { greet: prompt({ run: () => 'Hello' }) },
  })

/** A line to a server on which everything is written down. */
async function tapped(port: number): Promise<{ url: string; received(): string }> {
  const received: Buffer[] = []
  const tap = createServer((client) => {
    const remote = dial(port, '127.0.0.1')
    client.on('data', (chunk) => received.push(chunk))
    client.pipe(remote).pipe(client)
    client.on('error', () => remote.destroy())
    remote.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => tap.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void tap.close())
  const bound = tap.address()
  const own = typeof bound === 'object' ? bound?.port : 0
  return { url: `http://127.0.0.1:${own}/mcp`, received: () => Buffer.concat(received).toString('latin1') }
}

/** A way in front of the upstream server; gives where it is, and a token that is good there. */
type Front = (target: string) => Promise<{ url: string; token: string; name: string }>

const authenticate = (): Authenticate =>
  bearer({ resource: mcp, authorizationServers: [issuer], verify: jwt({ issuer, keys }) })

async function listening(server: Parameters<typeof serveHttp>[0]): Promise<string> {
  const handler = serveHttp(server, { authenticate: authenticate(), keys: ['k'.repeat(32)] })
  const { url, close } = await handler.listen()
  onTestFinished(() => close())
  return url
}

const fronts: readonly [string, Front][] = [
  [
    'a proxy',
    async (target) => {
      const server = await proxy(http(target))
      onTestFinished(() => server.close())
      return { url: await listening(server), token: good(), name: 'echo' }
    },
  ],
  [
    'a proxy with an account for each principal',
    async (target) => {
      const targetFor = (): ReturnType<typeof http> =>
        http(target, { headers: { authorization: 'Bearer own' } })
      const server = await proxy(http(target), { targetFor })
      onTestFinished(() => server.close())
      return { url: await listening(server), token: good(), name: 'echo' }
    },
  ],
  [
    'a composition',
    async (target) => {
      const behind = await proxy(http(target))
      onTestFinished(() => behind.close())
      const server = compose({
        name: 'all',
        version: '1.0.0',
        servers: { far: behind, near: upstream() },
        onError: () => {},
      })
      return { url: await listening(server), token: good(), name: 'far__echo' }
    },
  ],
  [
    'a gateway',
    async (target) => {
      const token = 'a-token-of-ann-0123456789'
      const front = await serveGateways({
        tokens: { ann: token },
        open: async () => {
          const host = hostOf({ servers: { far: { url: target } }, defaultVerdict: 'allow' })
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
      return { url: front.url, token, name: 'far__echo' }
    },
  ],
]

campaign(
  {
    id: 'forwarded-tokens',
    chapter: 'Authorization',
    claim: 'A received token is never forwarded to an upstream server',
    trial: 'request through a proxy, a composition or a gateway',
    trials: { change: 80, long: 10_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const behind = await serveHttp(upstream(), { keys: ['k'.repeat(32)] }).listen()
    onTestFinished(() => behind.close())
    let made = 0
    for (const [what, front] of fronts) {
      const line = await tapped(behind.port)
      const { url, token, name } = await front(line.url)
      const secrets = [token, ...token.split('.'), 'cookie-secret', 'proxy-secret', 'key-secret']
      const headers = {
        authorization: `Bearer ${token}`,
        cookie: 'session=cookie-secret',
        'proxy-authorization': 'Basic proxy-secret',
        'x-api-key': 'key-secret',
      }
      for (const revision of revisions) {
        const client = await connect(http(url, { headers }), { revisions: [revision] })
        for (let trial = 0; trial < campaignRun.trials / fronts.length / revisions.length; trial++, made++) {
          const where = `${what}, ${revision}, trial ${trial}`
          // One at least goes through to the server behind.
          await request(client, name, trial === 0 ? 3 : random.between(0, 3), random, where)
          const received = line.received()
          for (const secret of secrets) expect(received.includes(secret), `${where}: ${secret}`).toBe(false)
        }
        await client.close()
      }
      expect(line.received(), what).toContain('tools/call')
    }
    campaignRun.setTrials(made)
  },
)

/** Makes one request of four kinds, of which the last is the one to the tool. */
async function request(
  client: Client,
  name: string,
  kind: number,
  random: Random,
  where: string,
): Promise<void> {
  const text = `word ${random.between(1, 1e6)}`
  if (kind === 0) expect((await client.tools()).length, where).toBeGreaterThan(0)
  else if (kind === 1) await client.prompts()
  else if (kind === 2) await client.resources()
  else expect((await client.call(name, { text })).content, where).toEqual([{ type: 'text', text }])
}
