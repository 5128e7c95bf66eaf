// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are what is tested.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore } from '@jackfield/sdk/client/auth'
import { describe, expect, it } from 'vitest'
import { memorySecrets } from '../../src/config/secrets/store.ts'
import type { ConfigLayer, HostOptions, ServerConfig } from '../../src/types/index.ts'
import { folder, session, started, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const chat = { caller: 'chat' } as const

/** Hosts of one program with one more argument, on one store. Whoever is asked agrees for good. */
function setup(argument: string, layer: ConfigLayer = 'named') {
  const at = folder()
  const file = join(at, 'mcp.json')
  const { config } = session()
  if ('url' in config) throw new Error('a process is wanted')
  const server: ServerConfig = {
    ...config,
    args: [...(config.args ?? []), argument],
    from: { file, layer, workspace: join(at, 'work'), inputs: [{ id: 'place' }] },
  }
  const secrets = memorySecrets()
  const credentials = memoryStore()
  const store = join(at, 'activity.db')
  const asked: string[] = []
  const surface = person({
    start: ({ command }) => {
      asked.push(`start ${command.split(' ').at(-1)}`)
      return { verdict: 'allow' }
    },
    approval: () => {
      asked.push('approval')
      return { verdict: 'allow', remember: { scope: 'always' } }
    },
  })
  /** Starts a host, makes one call and closes it; returns the questions to the user, and the identity of the server. */
  const runOnce = async (options: Partial<HostOptions> = {}, work?: (host: Watched) => Promise<void>) => {
    asked.length = 0
    const host = await started({
      servers: { s: server },
      store,
      secrets,
      credentials,
      surface,
      ...options,
    })
    await work?.(host)
    const [tool] = host.tools()
    if (tool === undefined) throw new Error(JSON.stringify([...host.connections]))
    await host.call(tool.name, { text: 'x' }, chat)
    const { identity } = host.trust.server('s')
    await host.close()
    return { asked: [...asked], identity }
  }
  return { at, file, store, secrets, credentials, server, runOnce }
}

describe('the identity of a server', () => {
  it('stays while the values in its command stay the same, and changes with them', async () => {
    const { file, secrets, runOnce } = setup('--place=${input:place}')
    const place = `input place of ${file}`
    await secrets.set(place, 'Oslo')
    const first = await runOnce()
    expect(first.asked).toEqual(['approval'])
    expect(await runOnce()).toEqual({ asked: [], identity: first.identity })

    await secrets.set(place, 'Bergen')
    const other = await runOnce()
    expect(other.asked).toEqual(['approval'])
    expect(other.identity).not.toBe(first.identity)

    await secrets.set(place, 'Oslo')
    expect(await runOnce()).toEqual({ asked: [], identity: first.identity })
  })

  it.each([
    ['a variable of the environment', '${PLACE}', { PLACE: 'Oslo' }, { PLACE: 'Bergen' }],
    ['the default of one', '${PLACE:-Oslo}', {}, { PLACE: 'Bergen' }],
    ['a secret variable', '--x=${API_TOKEN}', { API_TOKEN: 'token-1' }, { API_TOKEN: 'token-2' }],
  ])('includes the value of %s', async (_, argument, before, after) => {
    const { runOnce } = setup(argument)
    expect((await runOnce({ env: { ...process.env, ...before } })).asked).toEqual(['approval'])
    expect((await runOnce({ env: { ...process.env, ...before } })).asked).toEqual([])
    expect((await runOnce({ env: { ...process.env, ...after } })).asked).toEqual(['approval'])
  })

  it('includes a secret as a keyed digest', async () => {
    const { secrets, store, runOnce, at } = setup('--token=${secret:office}')
    await secrets.set('office', 'CANARY-office-77aa')
    const first = await runOnce()
    expect((await runOnce()).identity).toBe(first.identity)
    // Another key, as on another machine: the same value makes another identity.
    const elsewhere = await runOnce({ credentials: memoryStore(), store: join(at, 'other.db') })
    expect(elsewhere.identity).not.toBe(first.identity)
    await secrets.set('office', 'CANARY-office-88bb')
    expect((await runOnce()).asked).toEqual(['approval'])
    for (const end of ['', '-wal']) expect(read(`${store}${end}`)).not.toMatch(/CANARY-office/)
  })

  it('that changed with a value needs consent again, once', async () => {
    const { file, secrets, runOnce } = setup('${input:place}', 'project')
    const place = `input place of ${file}`
    await secrets.set(place, 'Oslo')
    expect((await runOnce()).asked).toEqual([expect.stringContaining('start'), 'approval'])
    expect((await runOnce()).asked).toEqual([])
    await secrets.set(place, 'Bergen')
    expect((await runOnce()).asked).toEqual([expect.stringContaining('start'), 'approval'])
    expect((await runOnce()).asked).toEqual([])
  })

  it('is checked when a lazy server starts', async () => {
    const { file, secrets, server, runOnce } = setup('--place=${input:place}')
    const place = `input place of ${file}`
    await secrets.set(place, 'Oslo')
    const lazy = { servers: { s: { ...server, lazy: true } } }
    await runOnce(lazy)
    await secrets.set(place, 'Bergen')
    const calls: unknown[] = []
    await runOnce(lazy, async (host) => {
      expect(host.connections.get('s')).toMatchObject({ state: 'asleep' })
      const [tool] = host.tools()
      const call = await host.call(tool?.name ?? '', { text: 'x' }, chat)
      calls.push(call.result.isError, JSON.stringify(call.result))
    })
    expect(calls).toEqual([true, expect.stringContaining('changed meanwhile')])
  })
})

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
