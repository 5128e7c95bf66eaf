import type { ServerResponse } from 'node:http'
import { bearer, introspection, jwt, type VerifyToken } from '@jackfield/sdk/auth'
import { afterEach, expect, onTestFinished, vi } from 'vitest'
import { shop } from '../../../packages/sdk/test/auth/support.ts'
import { authority } from '../../../packages/sdk/test/client-auth/support/authority.ts'
import {
  open,
  person,
  protectedServer,
} from '../../../packages/sdk/test/client-auth/support/protected-server.ts'
import { type Hand, json, listen } from '../../../packages/sdk/test/client-auth/support/server.ts'
import { modern, webAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { good, keys, mcp } from './forgery.ts'

afterEach(() => {
  vi.useRealTimers()
})

type Reply = (res: ServerResponse) => void

const status =
  (code: number, body = ''): Reply =>
  (res) =>
    res.writeHead(code, { 'content-type': 'application/json', 'retry-after': '1' }).end(body)
const text =
  (body: string | Uint8Array): Reply =>
  (res) =>
    res.writeHead(200, { 'content-type': 'application/json' }).end(body)

/** What nothing may be concluded from, whatever was asked. */
const anywhere: Readonly<Record<string, Reply>> = {
  'a redirect': (res) => res.writeHead(302, { location: 'https://evil.example/' }).end(),
  ...Object.fromEntries(
    [400, 401, 403, 404, 408, 418, 429, 500, 502, 503, 504].map((code) => [`status ${code}`, status(code)]),
  ),
  'nothing at all': text(''),
  'half an object': text('{"keys":['),
  'a page': text('<!doctype html><title>Maintenance</title>'),
  'a list': text('[]'),
  null: text('null'),
  true: text('true'),
  'an empty object': text('{}'),
  'bytes that are not UTF-8': text(Uint8Array.from([0x7b, 0xff, 0x7d])),
  'a hundred thousand brackets': text('['.repeat(100_000)),
  'half a megabyte': text(`{"x":"${'x'.repeat(500_000)}"}`),
  'a broken connection': (res) => res.destroy(),
  'a broken body': (res) => {
    res.writeHead(200, { 'content-length': '1000' }).write('{"active":true')
    setImmediate(() => res.destroy())
  },
}

/** What is no answer at all, so that no token is called wrong for it: an empty object may be one. */
const fails: ReadonlySet<string> = new Set(Object.keys(anywhere).filter((what) => what !== 'an empty object'))

/** Keys that are none, or not the ones. */
const noKeys: Readonly<Record<string, Reply>> = {
  'keys that are null': text('{"keys":null}'),
  'keys that are text': text('{"keys":"x"}'),
  'no keys': text('{"keys":[]}'),
  'a key that is null': text('{"keys":[null]}'),
  'a key without a kind': text('{"keys":[{}]}'),
  'a key that is broken': text(JSON.stringify({ keys: [{ ...keys.keys[0], x: '!' }] })),
  'a secret as a key': text('{"keys":[{"kty":"oct","kid":"ec","k":"AAAA"}]}'),
  'keys twice': text(`{"keys":[],"keys":${JSON.stringify(keys.keys)}}`),
  'good keys that were an error': status(500, JSON.stringify(keys)),
  'good keys that were only begun': status(202, JSON.stringify(keys)),
}

const sound = { active: true, sub: 'alice', aud: mcp, scope: 'orders:write orders:read' }
const noYes: Readonly<Record<string, Reply>> = {
  ...Object.fromEntries(
    [
      { ...sound, active: false },
      { ...sound, active: 'true' },
      { ...sound, active: 1 },
      { ...sound, active: null },
      { ...sound, active: [true] },
      { ...sound, active: undefined },
      { ...sound, aud: undefined },
      { ...sound, aud: [] },
      { ...sound, aud: [mcp, 'https://evil.example/'] },
      { ...sound, exp: 1 },
      { ...sound, exp: '99999999999' },
      { ...sound, nbf: 99_999_999_999 },
      { ...sound, iss: 'https://evil.example' },
      { ...sound, cnf: { jkt: 'x' } },
      [sound],
      { result: sound },
    ].map((value) => [JSON.stringify(value), text(JSON.stringify(value))]),
  ),
  'active twice': text(JSON.stringify(sound).replace('{', '{"active":false,')),
  'a sound answer that was an error': status(500, JSON.stringify(sound)),
  'a sound answer that was created': status(201, JSON.stringify(sound)),
}

/** What never comes to an end. Only the limit of five seconds ends it, so these go on beside all others. */
const endless: Readonly<Record<string, Reply>> = {
  silence: () => {},
  'a body without end': (res) => {
    const drip = setInterval(() => res.write(' '), 100)
    res.on('close', () => clearInterval(drip))
  },
}

campaign(
  {
    id: 'failing-authorities',
    chapter: 'Authorization',
    claim: 'A failing or misbehaving authorization server grants no access and loses no login',
    trial: 'request while it fails',
    trials: { test: 40, change: 130, long: 5_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const late = Object.entries(endless).flatMap(([what, reply]) =>
      dependencies
        .filter(({ alone }) => alone === undefined)
        .map(({ during }) => during(reply).then((status) => expect(status, what).toBe(503))),
    )
    const all = dependencies.flatMap(({ during, own }) =>
      Object.entries({ ...anywhere, ...own }).map(([what, reply]) => ({ what, reply, during })),
    )
    const first = random.between(0, all.length - 1)
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const one = all[(first + trial) % all.length]
      const where = `${one?.what}, trial ${trial}`
      const status = await one?.during(one.reply)
      expect(status, where).not.toBe(200)
      if (one?.what !== undefined && fails.has(one.what)) expect(status, where).not.toBe(401)
    }
    await Promise.all(late)
    campaignRun.setTrials(campaignRun.trials + late.length)
    campaignRun.measured('kinds of failure', all.length, 'kinds')
    for (const { during, right } of dependencies) expect(await during(right)).toBe(200)
  },
)

/** Stands for the answer that only the dependency itself can give. */
const proper: Reply = () => {}

interface Dependency {
  /** Cannot go on beside others: it moves the clock they share, or takes ten seconds to give up. */
  alone?: true
  /** The status of a request while a dependency responds so: 200 if it is accepted, 503 if that cannot be determined. */
  during(reply: Reply): Promise<number>
  /** What else it may not answer. */
  own: Readonly<Record<string, Reply>>
  /** The answer it should give. */
  right: Reply
}

/** The status with which a server answers, whose verifier relies on an authorization server. */
async function letIn(issuer: string, verify: VerifyToken, token: string): Promise<number> {
  const { server, ran } = shop()
  const reports: unknown[] = []
  const quiet = Object.create(server, { report: { value: (error: unknown) => reports.push(error) } })
  const authenticate = bearer({ resource: mcp, authorizationServers: [issuer], verify })
  const mounted = await webAdapter(quiet, { authenticate })
  const authorization = `Bearer ${token}`
  const answer = await mounted.send(modern('tools/call', { name: 'refund' }, { authorization }))
  await mounted.close()
  const body = await answer.text()
  expect(body).not.toContain(token)
  expect(JSON.stringify(reports)).not.toContain(token)
  expect([200, 401, 503]).toContain(answer.status)
  expect(answer.header('retry-after') !== undefined).toBe(answer.status === 503)
  expect(ran).toEqual(answer.status === 200 ? ['refund'] : [])
  return answer.status
}

async function answering(handle: (path: string, res: ServerResponse, origin: string) => void): Promise<Hand> {
  const hand: Hand = await listen(({ url, res }) => handle(url.pathname, res, url.origin))
  onTestFinished(() => hand.close())
  return hand
}

const scope = 'orders:write orders:read'
const token = (issuer: string): string => good(false, { iss: issuer, scope })

const dependencies: readonly Dependency[] = [
  {
    // Where the keys are.
    async during(reply) {
      const { origin, close } = await answering((path, res) =>
        path === '/keys' ? json(res, keys) : reply(res),
      )
      const found = await letIn(origin, jwt({ issuer: origin }), token(origin))
      close()
      return found
    },
    own: {
      'another issuer': text(
        JSON.stringify({ issuer: 'https://evil.example', jwks_uri: 'https://evil.example/' }),
      ),
      'keys over plain http': text(
        JSON.stringify({ issuer: 'https://evil.example', jwks_uri: 'http://evil.example/' }),
      ),
    },
    right: (res) => {
      const origin = `http://${res.req.headers.host}`
      json(res, { issuer: origin, jwks_uri: `${origin}/keys` })
    },
  },
  {
    // The keys.
    async during(reply) {
      const { origin, close } = await answering((_, res) => reply(res))
      const found = await letIn(origin, jwt({ issuer: origin, jwksUri: `${origin}/keys` }), token(origin))
      close()
      return found
    },
    own: noKeys,
    right: (res) => json(res, keys),
  },
  {
    // The keys, when those that are known are too old.
    alone: true,
    async during(reply) {
      let now: Reply = (res) => json(res, keys)
      const { origin, close } = await answering((_, res) => now(res))
      const verify = jwt({ issuer: origin, jwksUri: `${origin}/keys` })
      expect(await letIn(origin, verify, token(origin))).toBe(200)
      now = reply
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
      const found = await letIn(origin, verify, token(origin))
      vi.useRealTimers()
      close()
      return found
    },
    own: noKeys,
    right: (res) => json(res, keys),
  },
  {
    // The word of the authorization server on a token.
    async during(reply) {
      const { origin, close } = await answering((_, res) => reply(res))
      const endpoint = `${origin}/introspect`
      const verify = introspection({ endpoint, issuer: origin, clientId: 'c', clientSecret: 's' })
      const found = await letIn(origin, verify, 'opaque-0123456789')
      close()
      return found
    },
    own: noYes,
    right: (res) => json(res, sound),
  },
  {
    // What a client receives about where to log in.
    async during(reply) {
      const own = await authority()
      const endpoints = {
        authorization_endpoint: `${own.issuer}/authorize`,
        token_endpoint: `${own.issuer}/token`,
      }
      const pkce = { code_challenge_methods_supported: ['S256'] }
      const { origin, close } = await answering((_, res, issuer) => {
        if (reply !== proper) reply(res)
        else json(res, { issuer, ...endpoints, registration_endpoint: `${own.issuer}/register`, ...pkce })
      })
      own.callback = { iss: origin }
      const one = await protectedServer({ ...own, issuer: origin })
      const error: unknown = await open(one, person().auth).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (error !== undefined) expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
      if (error !== undefined) expect(own.seen).toEqual([])
      close()
      one.close()
      own.close()
      return error === undefined ? 200 : 503
    },
    alone: true,
    own: {},
    right: proper,
  },
]
