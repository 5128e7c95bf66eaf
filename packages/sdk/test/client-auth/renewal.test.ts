import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Authority } from './support/authority.ts'
import { open, person, protectedServer } from './support/protected-server.ts'

let began = 0
beforeEach(() => {
  began = Date.now()
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})
const hour = 3_600_000

const grantsOf = (as: Authority): (string | null)[] =>
  as.at('/token').map(({ params }) => params.get('grant_type'))

it('without a refresh token, a login replaces a refresh', async () => {
  const one = await protectedServer()
  one.as.token = { refresh_token: undefined }
  const { auth, opened } = person()
  const client = await open(one, auth)
  await client.call('x')
  vi.setSystemTime(began + hour + 1_000)
  await Promise.all([client.call('x'), client.call('x')])
  expect(one.calls).toHaveLength(3)
  expect(opened).toHaveLength(2)
  expect(grantsOf(one.as)).toEqual(['authorization_code', 'authorization_code'])
})

it('a refresh token is used once, and then the new one from the response', async () => {
  const one = await protectedServer()
  const { auth, opened } = person()
  const client = await open(one, auth)
  const [first] = one.as.refreshable
  vi.setSystemTime(began + hour + 1_000)
  await client.call('x')
  const [second] = one.as.refreshable
  vi.setSystemTime(began + 2 * hour + 2_000)
  await client.call('x')
  const used = one.as.at('/token').map(({ params }) => params.get('refresh_token'))
  expect(used).toEqual([null, first, second])
  expect(opened).toHaveLength(1)
})

it('a refresh token is sent to the token endpoint in the body, and nowhere else', async () => {
  const one = await protectedServer()
  const { auth } = person()
  const client = await open(one, auth)
  const tokens = [...one.as.refreshable]
  one.as.expireAll()
  await client.call('x')
  tokens.push(...one.as.refreshable)
  expect(tokens).toHaveLength(2)
  for (const { method, url, headers, body } of [...one.seen, ...one.as.seen]) {
    const inPlace = method === 'POST' && url.pathname === '/token'
    for (const text of tokens) {
      expect(`${url.href} ${JSON.stringify(headers)} ${inPlace ? '' : body}`).not.toContain(text)
    }
  }
  expect(one.as.at('/token').at(-1)?.params.get('refresh_token')).toBe(tokens[0])
})
