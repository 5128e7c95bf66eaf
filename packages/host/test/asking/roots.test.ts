import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Surface } from '../../src/types/index.ts'
import { folder, hostOf, returned, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { hostIn } from '../sampling/support.ts'

const cli = { caller: 'cli' } as const
const _rules = [{ id: 'all', verdict: 'allow' as const }]
const agreeing = (): Surface => person({ roots: () => ({ verdict: 'allow' }) })
const rootOf = (path: string) => ({ uri: pathToFileURL(path).href })

const rootsOf = async (host: Watched): Promise<unknown> => returned(await host.call('s__roots', {}, cli))

describe.each(['session', 'stateless'] as const)('folders that cannot be read (%s)', (era) => {
  it('are not listed to a server, and the activity names them', async () => {
    const here = folder()
    const gone = join(here, 'gone')
    const host = await hostIn(era, { surface: agreeing(), roots: [rootOf(here), rootOf(gone)] })
    expect(await rootsOf(host)).toEqual({ answer: expect.objectContaining({ roots: [rootOf(here)] }) })
    expect(host.activity({ kind: 'roots' })).toMatchObject([{ detail: { missing: [rootOf(gone).uri] } }])
    mkdirSync(gone)
    expect(await rootsOf(host)).toMatchObject({ answer: { roots: [rootOf(here), rootOf(gone)] } })
  })
})

describe('a folder that goes away', () => {
  it('is noticed, and a server that listed it is notified once', async () => {
    const here = join(folder(), 'project')
    mkdirSync(here)
    const notices: string[] = []
    const host = await hostIn('session', {
      surface: agreeing(),
      roots: [rootOf(here)],
      connect: {
        onMessage: (_server, direction, message) => {
          if (direction === 'sent' && 'method' in message) notices.push(message.method)
        },
      },
    })
    const changes = (): number => notices.filter((name) => name === 'notifications/roots/list_changed').length
    expect(await rootsOf(host)).toMatchObject({ answer: { roots: [rootOf(here)] } })
    expect(changes()).toBe(0)
    rmSync(here, { recursive: true })
    await until(() => changes() === 1, 'the notification of the removed folder')
    expect(await rootsOf(host)).toMatchObject({ answer: { roots: [] } })
    mkdirSync(here)
    await until(() => changes() === 2, 'the notification of the new folder')
    expect(await rootsOf(host)).toMatchObject({ answer: { roots: [rootOf(here)] } })
  })

  it('does not notify a server that never listed it', async () => {
    const here = folder()
    const surface = person({ roots: () => ({ verdict: 'deny' }) })
    const host = await hostIn('session', { surface, roots: [rootOf(here)] })
    expect(await rootsOf(host)).toMatchObject({ answer: { roots: [] } })
    expect(host.activity({ kind: 'roots' })[0]?.detail).not.toHaveProperty('missing')
  })
})

describe('a root with a link out of its folder', () => {
  it.each([
    'file:///srv/../etc',
    'file:///srv/%2e%2e/etc',
    'file:///srv%2f..%2fetc',
    'file://other.example/srv',
    'https://example.com/',
    'not a uri',
  ])('is rejected before anything starts: %s', (uri) => {
    expect(() => hostOf({ roots: [{ uri }] })).toThrow()
  })
})
