import { beforeEach, describe, expect, it, vi } from 'vitest'
import { inTurns } from '../client/support/turns.ts'
import { open, person, protectedServer } from './support/protected-server.ts'
import type { Hand, Seen } from './support/server.ts'

const oauth2 = '/.well-known/oauth-authorization-server'
const oidc = '/.well-known/openid-configuration'
const own = '/.well-known/oauth-protected-resource/mcp'
const root = '/.well-known/oauth-protected-resource'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  return () => vi.useRealTimers()
})

/** Lets time go by once a place was asked. */
async function passes(ms: number, hand: Hand, place: string): Promise<void> {
  await inTurns(() => hand.at(place).length > 0)
  await vi.advanceTimersByTimeAsync(ms)
}

const silentAt =
  (...places: string[]) =>
  ({ url }: Seen) =>
    places.includes(url.pathname)

describe('an authorization server that accepts connections and never responds', () => {
  it('ends the attempt after 5 seconds, for any number of URLs', async () => {
    const one = await protectedServer()
    one.as.onMetadata = () => true
    const { auth, opened } = person()
    const ended = expect(open(one, auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(`${one.as.origin} did not respond within 5000 ms`),
    })
    await passes(1_500, one.as, oauth2)
    await passes(3_500, one.as, oidc)
    await ended
    expect(one.as.seen.map(({ url }) => url.pathname)).toEqual([oauth2, oidc])
    expect(opened).toEqual([])
  })

  it('at the first URL only is found at the second within 5 seconds', async () => {
    const one = await protectedServer()
    one.as.metadataPath = oidc
    one.as.onMetadata = silentAt(oauth2)
    const opening = open(one, person().auth)
    await passes(1_500, one.as, oauth2)
    await passes(3_500, one.as, oidc)
    await expect((await opening).call('x')).resolves.toMatchObject({ content: [{ text: 'done' }] })
  })
})

it('a name that never resolves ends the attempt after 10 seconds', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const control = new AbortController()
    setTimeout(() => control.abort(new DOMException('late', 'TimeoutError')), ms)
    return control.signal
  })
  try {
    const one = await protectedServer()
    one.as.metadata = { registration_endpoint: 'https://silent.example/register' }
    let looked = (): void => {}
    const looking = new Promise<void>((resolve) => {
      looked = resolve
    })
    const { auth, opened } = person({
      lookup(name) {
        if (name === 'silent.example') looked()
        return new Promise(() => {})
      },
    })
    const ended = expect(open(one, auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(/silent.example.* could not be resolved/),
    })
    await looking
    await vi.advanceTimersByTimeAsync(10_000)
    await ended
    expect(opened).toEqual([])
  } finally {
    timeout.mockRestore()
  }
})

describe('a slow authorization server', () => {
  const slow = async (ms: number) => {
    const one = await protectedServer()
    const page = `${one.as.issuer}/authorize?first`
    one.as.onMetadata = ({ url, res }) => {
      const isFirst = url.pathname === oauth2
      const metadata = {
        issuer: one.as.issuer,
        authorization_endpoint: isFirst ? page : `${one.as.issuer}/authorize`,
        token_endpoint: `${one.as.issuer}/token`,
        registration_endpoint: `${one.as.issuer}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      }
      const answer = (): void => void res.end(JSON.stringify(metadata))
      if (isFirst) setTimeout(answer, ms)
      else answer()
      return true
    }
    const { auth, opened } = person()
    const opening = open(one, auth)
    await passes(ms, one.as, oauth2)
    await opening
    expect(opened[0]?.searchParams.has('first')).toBe(true)
    return one.as.seen.filter(({ url }) => url.pathname.includes('well-known')).length
  }

  it('gets one request while it may still respond', async () => {
    expect(await slow(1_400)).toBe(1)
  })

  it('has its first URL preferred over responses of others meanwhile', async () => {
    expect(await slow(4_000)).toBe(2)
  })
})

describe('a server without metadata', () => {
  it.each([
    ['at any place', [own, root]],
    ['where that would be, and has nothing at its root', [own]],
  ])('%s ends the attempt after 5 seconds, without assumptions', async (_, silent) => {
    const one = await protectedServer()
    one.resource = undefined
    one.onResource = silentAt(...silent)
    const { auth, opened } = person()
    const ended = expect(open(one, auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(`${one.origin} did not respond within 5000 ms`),
    })
    await passes(1_500, one, own)
    await passes(3_500, one, root)
    await ended
    expect(one.at(oauth2)).toEqual([])
    expect(opened).toEqual([])
  })

  it('at the first URL only is found at its root within 5 seconds', async () => {
    const one = await protectedServer()
    one.resourcePath = root
    one.onResource = silentAt(own)
    const opening = open(one, person().auth)
    await passes(1_500, one, own)
    await passes(3_500, one, root)
    await expect((await opening).call('x')).resolves.toMatchObject({ content: [{ text: 'done' }] })
  })

  it('at the URL of its challenge ends the attempt after 5 seconds', async () => {
    const one = await protectedServer()
    const named = '/.well-known/about'
    one.challenge = `Bearer resource_metadata="${one.origin}${named}"`
    one.onResource = silentAt(named)
    const ended = expect(open(one, person().auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(`${one.origin} did not respond within 5000 ms`),
    })
    await passes(5_000, one, named)
    await ended
    expect(one.at(own)).toEqual([])
  })
})
