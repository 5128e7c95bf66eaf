import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { open, type ProtectedServer, person, protectedServer } from './support/protected-server.ts'

const scopesOf = (page: URL | undefined): string[] => page?.searchParams.get('scope')?.split(' ') ?? []

/** Wants `base` for everything and `more` for tool calls. */
async function stepping(more: string): Promise<ProtectedServer> {
  const one = await protectedServer()
  one.challenge = 'Bearer scope="base"'
  one.allows = (token, { method }) => {
    const granted = one.as.good.get(token)?.split(' ')
    if (granted === undefined) return false
    return (
      method !== 'tools/call' ||
      granted.includes(more) ||
      `Bearer error="insufficient_scope", scope="${more}"`
    )
  }
  return one
}

describe('a call that needs more scopes', () => {
  it('gets them in addition to the existing ones', async () => {
    const one = await stepping('write')
    const { auth, opened } = person()
    const client = await open(one, auth)
    await client.call('x')
    expect(opened.map(scopesOf)).toEqual([['base'], ['base', 'write']])
    expect(one.calls).toHaveLength(1)
  })

  it('gets them once for many concurrent calls', async () => {
    const one = await stepping('write')
    const { auth, opened } = person()
    const client = await open(one, auth)
    await Promise.all(Array.from({ length: 20 }, () => client.call('x')))
    expect(opened).toHaveLength(2)
  })

  it('fails permanently if they do not help, without asking the user again', async () => {
    const one = await stepping('write')
    one.allows = (token, { method }) =>
      one.as.good.has(token) &&
      (method !== 'tools/call' || 'Bearer error="insufficient_scope", scope="write"')
    const { auth, opened } = person()
    const client = await open(one, auth)
    await expect(client.call('x')).rejects.toThrow(/refuses this request even after a login/)
    await expect(client.call('x')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(opened).toHaveLength(2)
  })

  it('may be made again after ten minutes, also if the clock was set back', async () => {
    const one = await stepping('write')
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.as.callback = { code: undefined, error: 'access_denied' }
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    await expect(client.call('x')).rejects.toThrow(/refused the login/)
    vi.setSystemTime(Date.now() - 86_400_000)
    vi.advanceTimersByTime(600_000)
    one.as.callback = {}
    await client.call('x')
    expect(opened).toHaveLength(3)
  })

  it('makes at most three logins if a server keeps requiring more', async () => {
    const one = await protectedServer()
    let count = 0
    one.allows = (token) => one.as.good.has(token) && `Bearer error="insufficient_scope", scope="s${++count}"`
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(opened).toHaveLength(3)
  })

  it('does not ask a user again who has just refused', async () => {
    const one = await stepping('write')
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.as.callback = { code: undefined, error: 'access_denied' }
    await expect(client.call('x')).rejects.toThrow(/refused the login/)
    await expect(client.call('x')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(opened).toHaveLength(2)
    await client.tools({ cache: 'bypass' })
  })
})
