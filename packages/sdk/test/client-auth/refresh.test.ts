import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '@jackfield/sdk/client/auth'
import { encryptedFiles, passphrase } from '@jackfield/sdk/client/auth/node'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { Authority } from './support/authority.ts'
import { open, person, protectedServer } from './support/protected-server.ts'
import { json } from './support/server.ts'

const refreshes = (as: Authority): number =>
  as.at('/token').filter(({ params }) => params.get('grant_type') === 'refresh_token').length

/** Makes it this many seconds after the test began. */
function later(seconds: number): void {
  began ??= Date.now()
  vi.setSystemTime(began + seconds * 1_000)
}
let began: number | undefined
beforeEach(() => {
  began = undefined
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Makes the token endpoint fail until the returned function is called. */
function outOfOrder(as: Authority): () => void {
  as.onToken = ({ res }) => {
    json(res, {}, 503)
    return true
  }
  return () => {
    as.onToken = () => false
  }
}

describe('an access token', () => {
  it('that expired is refreshed once for 50 concurrent calls, before any is sent', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    later(3_600)
    const refused = one.seen.length
    await Promise.all(Array.from({ length: 50 }, () => client.call('x')))
    expect(one.calls).toHaveLength(50)
    expect(one.seen).toHaveLength(refused + 50)
    expect(refreshes(one.as)).toBe(1)
    expect(opened).toHaveLength(1)
    expect(one.as.at('/token').at(-1)?.params.get('resource')).toBe(one.url)
  })

  it('that was revoked is refreshed once for 50 concurrent calls', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.as.expireAll()
    await Promise.all(Array.from({ length: 50 }, () => client.call('x')))
    expect(one.calls).toHaveLength(50)
    expect(refreshes(one.as)).toBe(1)
    expect(opened).toHaveLength(1)
  })

  it('is refreshed once for all clients that share a store', async () => {
    const one = await protectedServer()
    const store = memoryStore()
    const logins = Array.from({ length: 5 }, () => person({ store }))
    const clients = await Promise.all(logins.map(({ auth }) => open(one, auth)))
    expect(logins.flatMap(({ opened }) => opened)).toHaveLength(1)
    one.as.expireAll()
    await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => client.call('x'))))
    expect(refreshes(one.as)).toBe(1)
    expect(logins.flatMap(({ opened }) => opened)).toHaveLength(1)
  })

  it('that is still valid is used if refreshing fails for now', async () => {
    const one = await protectedServer()
    const { auth } = person()
    const client = await open(one, auth)
    const restore = outOfOrder(one.as)
    later(3_590)
    await client.call('x')
    expect(refreshes(one.as)).toBe(1)
    restore()
    later(3_596)
    await client.call('x')
    expect(refreshes(one.as)).toBe(2)
    expect(one.calls.map(({ headers }) => headers.authorization)).toEqual(
      [...one.as.good.keys()].map((token) => `Bearer ${token}`),
    )
  })

  it('that expired is kept for later if refreshing fails for now', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    const restore = outOfOrder(one.as)
    later(3_600)
    await expect(client.call('x')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('Try again later'),
    })
    restore()
    await client.call('x')
    expect(opened).toHaveLength(1)
    expect(refreshes(one.as)).toBe(2)
  })

  it('that cannot be refreshed any more leads to one login for 50 calls', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.as.expireAll()
    one.as.refreshable.clear()
    await Promise.all(Array.from({ length: 50 }, () => client.call('x')))
    expect(refreshes(one.as)).toBe(1)
    expect(opened).toHaveLength(2)
  })

  it('of a client unknown to the authorization server leads to a new registration', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.as.expireAll()
    one.as.onToken = ({ params, res }) => {
      if (params.get('client_id') !== opened[0]?.searchParams.get('client_id')) return false
      json(res, { error: 'invalid_client' }, 401, { 'www-authenticate': 'Basic realm="x"' })
      return true
    }
    await client.call('x')
    expect(one.as.at('/register')).toHaveLength(2)
    expect(opened).toHaveLength(2)
  })

  it('refreshed for a cancelled call is available for the next', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.as.expireAll()
    const stop = new AbortController()
    let answer = (): void => {}
    one.as.onToken = ({ res, params }) => {
      one.as.onToken = () => false
      one.as.refreshable.delete(params.get('refresh_token') ?? '')
      one.as.good.set('renewed', '')
      answer = () => json(res, { access_token: 'renewed', token_type: 'Bearer', expires_in: 3600 })
      stop.abort()
      return true
    }
    await expect(client.call('x', {}, { signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
    answer()
    await client.call('x')
    expect(opened).toHaveLength(1)
    expect(one.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer renewed'])
  })

  it('is not lost when a refresh fails that another process completed', async () => {
    const one = await protectedServer()
    const values = new Map<string, string>()
    // A store without a lock: what the lock prevents happens.
    const store = { ...memoryStore(), get: async (key: string) => values.get(key) }
    store.set = async (key, value) => {
      values.set(key, value)
    }
    store.delete = async (key) => {
      values.delete(key)
    }
    store.exclusive = (_key, work) => work()
    const first = person({ store })
    const second = person({ store })
    const client = await open(one, first.auth)
    const other = await open(one, second.auth)
    one.as.expireAll()
    let late = (): void => {}
    const locked = new Promise<void>((resolve) => {
      late = resolve
    })
    let refreshing = 0
    one.as.onToken = ({ res }) => {
      if (++refreshing > 1) return false
      locked.then(() => json(res, { error: 'invalid_grant' }, 400))
      return true
    }
    const losing = client.call('x')
    await expect.poll(() => refreshing).toBe(1)
    await other.call('x')
    late()
    await losing
    expect(first.opened).toHaveLength(1)
    expect(second.opened).toEqual([])
    expect([...values.values()].some((text) => text.includes('refreshToken'))).toBe(true)
  })
})

describe('processes that share a store', () => {
  it('refresh once between them, without a login', async () => {
    const one = await protectedServer()
    const directory = await mkdtemp(join(tmpdir(), 'jackfield-auth-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const secret = 'correct horse battery'
    const store = encryptedFiles({ directory, key: passphrase(secret) })
    await open(one, person({ store }).auth)
    one.as.expireAll()

    const program = programFile(new URL('support/caller.ts', import.meta.url))
    const callers = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const child = spawn(process.execPath, [program, one.url, directory, secret], {
          stdio: ['pipe', 'pipe', 'inherit'],
          timeout: 25_000,
        })
        child.stdout.setEncoding('utf8')
        const output: string[] = []
        child.stdout.on('data', (text: string) => output.push(text))
        const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
        await expect.poll(() => output.join(''), { timeout: 20_000 }).toContain('ready')
        return { child, ended, output }
      }),
    )
    for (const { child } of callers) child.stdin.end('go\n')
    expect(await Promise.all(callers.map(({ ended }) => ended))).toEqual([0, 0, 0])
    expect(callers.map(({ output }) => output.join('').trim().split('\n').at(-1))).toEqual(['20', '20', '20'])
    expect(one.calls).toHaveLength(60)
    expect(refreshes(one.as)).toBe(1)
    expect(one.as.at('/authorize')).toHaveLength(1)
  })
})
