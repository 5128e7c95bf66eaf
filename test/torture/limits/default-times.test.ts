import { introspection, jwt } from '@jackfield/sdk/auth'
import { connect, http } from '@jackfield/sdk/client'
import { oauth } from '@jackfield/sdk/client/auth'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { agreeing } from '../../../packages/sdk/test/client-auth/support/protected-server.ts'

const issuer = 'https://as.example.com'
const patienceMs = 120_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  // Fake timers leave the runtime's own alone.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const late = new AbortController()
    setTimeout(() => late.abort(new DOMException('The time is up', 'TimeoutError')), ms)
    return late.signal
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Does all that needs no time to pass, cryptography in other threads included. */
async function settled(isDone: () => boolean): Promise<void> {
  for (let turns = 0; turns < 100_000 && !isDone(); turns++) await new Promise((next) => setImmediate(next))
}

/** A peer that never responds, or never ends its response, and the number of its requests. */
function silent(status?: number) {
  const asked: string[] = []
  const fetch = (url: string | URL, { signal }: RequestInit): Promise<Response> => {
    asked.push(String(url))
    const late = (fail: (reason: unknown) => void): void =>
      signal?.addEventListener('abort', () => fail(signal.reason))
    if (status === undefined) return new Promise((_, reject) => late(reject))
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        control.enqueue(new TextEncoder().encode('{'))
        late((reason) => control.error(reason))
      },
    })
    return Promise.resolve(new Response(body, { status }))
  }
  return { asked, fetch }
}

/** The error of work that waits for a peer, and after how many milliseconds. */
async function failsAfter(work: Promise<unknown>, asked: readonly string[]) {
  let failure: unknown
  work.catch((error: unknown) => {
    failure = error
  })
  await settled(() => asked.length > 0)
  let ms = 0
  for (; failure === undefined && ms < patienceMs; ms += 500) {
    await vi.advanceTimersByTimeAsync(500)
    for (let turns = 0; turns < 20; turns++) await new Promise((next) => setImmediate(next))
  }
  return { failure, ms }
}

async function signer(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const key = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid }
  const sign = (): Promise<string> =>
    new SignJWT({ iss: issuer, sub: 'alice', exp: Date.now() / 1000 + 3600 })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(privateKey)
  return { key, sign }
}

const silences: [string, number | undefined][] = [
  ['never answers', undefined],
  ['never ends its answer', 200],
]

describe.each(silences)('an authorization server that %s', (_what, status) => {
  it('is awaited for 5 s at two URLs together while a server looks for its metadata', async () => {
    const { asked, fetch } = silent(status)
    const token = await (await signer('a')).sign()
    const { failure, ms } = await failsAfter(jwt({ issuer, fetch })(token), asked)
    expect(failure).toMatchObject({ code: 'CONNECT_FAILED' })
    expect(asked).toEqual(
      ['oauth-authorization-server', 'openid-configuration'].map((name) => `${issuer}/.well-known/${name}`),
    )
    expect(ms).toBe(5000)
  })

  it('is awaited for 5 s while a server fetches its keys', async () => {
    const { asked, fetch } = silent(status)
    const token = await (await signer('a')).sign()
    const verify = jwt({ issuer, jwksUri: `${issuer}/keys`, fetch })
    const { failure, ms } = await failsAfter(verify(token), asked)
    expect(failure).toMatchObject({ code: 'CONNECT_FAILED' })
    expect(ms).toBe(5000)
  })

  it('is awaited for 5 s while a server introspects a token', async () => {
    const { asked, fetch } = silent(status)
    const verify = introspection({
      endpoint: `${issuer}/introspect`,
      clientId: 'shop',
      clientSecret: 'secret',
      fetch,
    })
    const { failure, ms } = await failsAfter(verify('opaque'), asked)
    expect(failure).toMatchObject({ code: 'CONNECT_FAILED' })
    expect(ms).toBe(5000)
  })

  it('is awaited for 5 s while a client looks for its metadata', async () => {
    const { asked, fetch } = silent(status)
    const auth = oauth({
      client: { name: 'test' },
      redirect: agreeing(),
      fetch,
      lookup: async () => ['93.184.215.14'],
    })
    const refusing = async (): Promise<Response> =>
      new Response('', { status: 401, headers: { 'www-authenticate': 'Bearer' } })
    const opened = connect(http('https://mcp.example/mcp', { auth, fetch: refusing }))
    const { failure, ms } = await failsAfter(opened, asked)
    expect(failure).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('did not respond within 5000 ms'),
    })
    expect(ms).toBe(5000)
  })
})

it('keys are fetched again for an unknown key id after 30 s, and not before', async () => {
  const [old, next] = [await signer('old'), await signer('next')]
  let asked = 0
  const fetch = async (): Promise<Response> => {
    asked++
    return Response.json({ keys: asked === 1 ? [old.key] : [old.key, next.key] })
  }
  const verify = jwt({ issuer, jwksUri: `${issuer}/keys`, fetch })
  expect(await verify(await old.sign())).toMatchObject({ sub: 'alice' })
  await vi.advanceTimersByTimeAsync(29_900)
  expect(await verify(await next.sign())).toBeUndefined()
  expect(asked).toBe(1)
  await vi.advanceTimersByTimeAsync(200)
  expect(await verify(await next.sign())).toMatchObject({ sub: 'alice' })
  expect(asked).toBe(2)
})
