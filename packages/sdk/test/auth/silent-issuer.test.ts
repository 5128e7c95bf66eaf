import { createServer } from 'node:http'
import { jwt } from '@jackfield/sdk/auth'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { inTurns } from '../client/support/turns.ts'
import { keys, tokenOf } from './support.ts'

const oauth2 = '/.well-known/oauth-authorization-server'
const oidc = '/.well-known/openid-configuration'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  return () => vi.useRealTimers()
})

/** An issuer that never answers at some places, and the places it was asked at. */
async function issuerSilentAt(...silent: string[]) {
  const asked: string[] = []
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    if (silent.includes(url)) return
    response.end(JSON.stringify(url === '/keys' ? keys : { issuer: origin, jwks_uri: `${origin}/keys` }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  /** Lets time go by once a place was asked. */
  const passes = async (ms: number, place: string): Promise<void> => {
    await inTurns(() => asked.includes(place))
    await vi.advanceTimersByTimeAsync(ms)
  }
  return { asked, passes, origin }
}

describe('an issuer that accepts connections and never responds', () => {
  test('at any metadata URL delays a request for 5 seconds at most', async () => {
    const { asked, passes, origin } = await issuerSilentAt(oauth2, oidc)
    const ended = expect(jwt({ issuer: origin })(await tokenOf({ iss: origin }))).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('did not respond'),
    })
    await passes(1_500, oauth2)
    await passes(3_500, oidc)
    await ended
    expect(asked).toEqual([oauth2, oidc])
  })

  test('at the first URL only has its keys found at the second within 5 seconds', async () => {
    const { asked, passes, origin } = await issuerSilentAt(oauth2)
    const verified = jwt({ issuer: origin })(await tokenOf({ iss: origin }))
    await passes(1_500, oauth2)
    await passes(3_500, oidc)
    expect(await verified).toMatchObject({ sub: 'alice' })
    expect(asked).toEqual([oauth2, oidc, '/keys'])
  })

  test('at an unneeded URL gets no request', async () => {
    const { asked, origin } = await issuerSilentAt(oidc)
    expect(await jwt({ issuer: origin })(await tokenOf({ iss: origin }))).toMatchObject({ sub: 'alice' })
    expect(asked).toEqual([oauth2, '/keys'])
  })
})
