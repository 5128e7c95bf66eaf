// biome-ignore-all lint/suspicious/noTemplateCurlyInString: values of a configuration
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memorySecrets } from '../../src/config/secrets/store.ts'
import { planForServer } from '../../src/servers/install/plan.ts'
import type { Installation, ServerConfig, Surface } from '../../src/types/index.ts'
import { hostOf, session, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { program, storeFile } from './programs.ts'

const canary = 'canary-5f2c1e-value'

/** A server that needs a secret and a region before it starts. */
function needing(): { servers: Record<string, ServerConfig>; ran: () => unknown[] } {
  const { config, ran } = session()
  const inputs = [
    { id: 'api-key', description: 'The key of the shop' },
    { id: 'region', options: ['eu', 'us'] },
  ]
  const env = { ...('env' in config ? config.env : {}), KEY: '${input:api-key}', REGION: '${input:region}' }
  return { servers: { s: { ...config, env, from: { file: '/none/mcp.json', layer: 'user', inputs } } }, ran }
}

const silent = (): Surface => person({ input: () => undefined, installation: () => undefined })

async function openQuestion(host: Watched, kind: string): Promise<string> {
  const open = () => host.inbox.list().find(({ question }) => question.kind === kind)
  await until(() => open() !== undefined, `a question (${kind})`)
  return open()?.id ?? ''
}

describe('a value that a server needs', () => {
  it('is entered in another program, and only the server and the secret store get it', async () => {
    const store = storeFile()
    const secrets = memorySecrets()
    const host = hostOf({ servers: needing().servers, store, secrets, surface: silent() })
    const starting = host.start()
    const id = await openQuestion(host, 'input')
    expect(host.inbox.get(id)).toMatchObject({
      waits: true,
      question: {
        kind: 'input',
        cause: { server: 's' },
        input: { id: 'api-key', description: 'The key of the shop', password: true },
      },
    })
    const other = await program('answerer.ts', { STORE: store })
    expect(await other.sendLine({ id, answer: { verdict: 'allow' } })).toContain('"value" must be a string')
    expect(await other.sendLine({ id, answer: { verdict: 'allow', value: canary } })).toBe('answered')
    const next = await openQuestion(host, 'input')
    expect(() => host.inbox.answer(next, { verdict: 'allow', value: 'mars' }, 'here')).toThrow(
      '"value" is one of: eu, us',
    )
    host.inbox.answer(next, { verdict: 'allow', value: 'eu' }, 'here')
    await starting
    expect(host.connections.get('s')?.state).toBe('ready')
    expect(await secrets.get('input api-key of /none/mcp.json')).toBe(canary)
    expect(host.inbox.get(id)?.answer).toMatchObject({ value: { verdict: 'allow' }, by: 'another program' })
    expect(host.inbox.get(next)?.answer?.value).toEqual({ verdict: 'allow' })
    expect(host.activity({ kind: 'input' })).toMatchObject([
      {
        server: 's',
        summary: 's needs The key of the shop',
        outcome: 'ok',
        detail: { by: 'another program' },
      },
      { server: 's', summary: 's needs region', outcome: 'ok', detail: { by: 'here' } },
    ])
    expect(JSON.stringify([host.events, host.activity(), host.inbox.list({ state: 'all' })])).not.toContain(
      canary,
    )
    await host.close()
    const files = readdirSync(dirname(store), { withFileTypes: true }).flatMap((entry) =>
      entry.isFile() && entry.name.startsWith(basename(store)) ? [entry.name] : [],
    )
    expect(files.length).toBeGreaterThan(0)
    for (const file of files)
      expect(readFileSync(join(dirname(store), file)).includes(canary), file).toBe(false)
  })

  it('that is refused prevents the start of the server, with advice', async () => {
    const { servers, ran } = needing()
    const host = hostOf({ servers, surface: person({ input: () => ({ verdict: 'deny' }) }) })
    await host.start()
    expect(host.connections.get('s')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('the input "api-key" (The key of the shop) has no value yet'),
      fixes: [{ action: 'set-secret', name: 'input api-key of /none/mcp.json' }],
    })
    expect(host.activity({ kind: 'input' })).toMatchObject([{ outcome: 'denied' }])
    expect(ran()).toEqual([])
  })

  it('is no longer required when its server is removed', async () => {
    const host = hostOf({ servers: needing().servers, surface: silent() })
    const starting = host.start()
    const id = await openQuestion(host, 'input')
    await host.reconfigure({})
    await starting
    expect(host.inbox.get(id)).toMatchObject({ state: 'withdrawn' })
  })
})

describe('an installation', () => {
  const { config: _, ...plan } = planForServer('shop', { command: 'npx', args: ['-y', '@ann/shop@1.0.0'] })
  const installation: Installation = { plan, file: '/home/ann/config.json', starts: true }

  it('is decided in any program on the store, and its decision is logged', async () => {
    const store = storeFile()
    const host = hostOf({ servers: {}, store, surface: silent() })
    const other = await program('answerer.ts', { STORE: store })
    for (const [answer, isAllowed] of [
      [{ verdict: 'deny', reason: 'unknown publisher' }, false],
      [{ verdict: 'allow' }, true],
    ] as const) {
      const decided = host.approveInstallation(installation)
      const id = await openQuestion(host, 'installation')
      expect(host.inbox.get(id)?.question).toMatchObject({ ...installation, cause: { server: 'shop' } })
      expect(await other.sendLine({ id, answer })).toBe('answered')
      expect(await decided).toBe(isAllowed)
    }
    expect(host.activity({ kind: 'install' })).toMatchObject([
      { server: 'shop', outcome: 'denied', detail: { by: 'another program', reason: 'unknown publisher' } },
      { server: 'shop', outcome: 'allowed', detail: { by: 'another program', command: plan.command } },
    ])
  })

  it('is refused if no attached window can ask, and only logged if it was accepted before', async () => {
    const host = hostOf({ servers: {} })
    await expect(host.approveInstallation(installation)).rejects.toThrow('no attached window can ask')
    expect(await host.approveInstallation(installation, { by: 'the command line' })).toBe(true)
    expect(host.inbox.list()).toEqual([])
    expect(host.activity({ kind: 'install' }).map(({ outcome }) => outcome)).toEqual(['error', 'allowed'])
  })
})
