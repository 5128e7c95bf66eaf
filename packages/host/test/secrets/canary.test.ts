// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore } from '@jackfield/sdk/client/auth'
import { describe, expect, it } from 'vitest'
import { sealedCredentials, sealedSecrets } from '../../src/config/secrets/store.ts'
import { createConversation } from '../../src/models/agent/index.ts'
import type { HostOptions, Model, ModelRequest, ServerConfig, Surface } from '../../src/types/index.ts'
import {
  exportOf,
  folder,
  hostOf,
  returned,
  sessionProgram,
  started,
  textOf,
  until,
  type Watched,
} from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { oneOpen, program } from '../inbox/programs.ts'
import { asksBack, roundsServer, type Script, type ServerTexts, text } from '../inbox/rounds-server.ts'

/** Secrets that must turn up nowhere. */
const canary = {
  env: 'CANARY-env-6f1d2c9a',
  header: 'CANARY-header-81b07e44',
  form: 'CANARY-form-c52a9913',
  pin: '4711',
  named: 'CANARY-named-0be7d5f2',
}
const forms = Object.values(canary)
  .filter((value) => value.startsWith('CANARY'))
  .flatMap((value) => [value, Buffer.from(value).toString('base64').slice(0, 20), encodeURIComponent(value)])

const rules = [{ id: 'all', verdict: 'allow' as const }]
const cli = { caller: 'cli' } as const
const login = {
  message: 'Sign in to the office',
  requestedSchema: {
    type: 'object' as const,
    properties: {
      user: { type: 'string' as const },
      password: { type: 'string' as const },
      pin: { type: 'integer' as const },
    },
    required: ['user', 'password'],
  },
}
const question = { method: 'elicitation/create', params: login }
const filled = {
  action: 'accept' as const,
  content: { user: 'ada', password: canary.form, pin: Number(canary.pin) },
}

/** Answers reads with nothing. */
const listing: Script = (params) =>
  'uri' in params ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', contents: [] } : text('x')

/** Everything that a program leaves on the disk, file by file. */
function filesIn(directory: string): { name: string; bytes: string }[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => ({ name, bytes: readFileSync(name, 'latin1') }))
}

/** The secrets that a text contains. */
function secretsIn(text: string): string[] {
  return forms.filter((form) => text.includes(form))
}

function leaksIn(directory: string): string[] {
  return filesIn(directory).flatMap(({ name, bytes }) => secretsIn(bytes).map((form) => `${name}: ${form}`))
}

/** A house with a server that is given secrets and quotes them, and hosts on one store. */
async function setup(script: Script, definitions: ServerTexts = {}) {
  const state = folder()
  const keys = folder()
  const key = { kind: 'key file', file: join(keys, 'key') } as const
  const server = await roundsServer(script, definitions)
  const from = { file: join(keys, 'mcp.json'), layer: 'named' as const }
  const config: ServerConfig = { url: server.url, headers: { 'X-Api-Key': canary.header }, from }
  const store = join(state, 'activity.db')
  const host = (options: Partial<HostOptions> = {}, seals = true): Promise<Watched> =>
    started({
      servers: { s: config },
      rules,
      store,
      secrets: sealedSecrets(join(state, 'secrets'), key),
      ...(seals && { credentials: sealedCredentials(join(state, 'credentials'), key) }),
      surface: shelf,
      ...options,
    })
  return { state, keys, store, server, config, host }
}

const shelf: Surface = { name: 'shelf', show: { elicitation: async () => undefined } }

/** Everything that a surface can read from a host. */
async function everythingShown(host: Watched): Promise<string> {
  const { trace, trust } = host
  return JSON.stringify([
    host.events,
    host.activity(),
    [...host.connections],
    host.tools(),
    host.prompts(),
    host.resources(),
    host.instructions(),
    trust.servers(),
    host.inbox.list({ state: 'all' }),
    await Promise.all((['jsonl', 'har', 'otlp'] as const).map((format) => exportOf(host, format))),
    trace.recording(),
  ])
}

describe('a secret', () => {
  it("quoted in a server's definitions is never shown, and its resource can be read", async () => {
    const one = await setup(listing, {
      instructions: `Use ${canary.header} to sign in.`,
      description: `Books with ${canary.header}.`,
      resources: [{ uri: `shop://orders?key=${canary.header}`, name: `orders ${canary.header}` }],
    })
    const lazy = { servers: { s: { ...one.config, lazy: true } } }
    const host = await one.host(lazy)
    expect(host.tools()).toMatchObject([
      { name: 's__book', tool: { description: 'Books with [X-Api-Key].' } },
    ])
    expect(host.instructions()).toEqual([{ server: 's', text: 'Use [X-Api-Key] to sign in.' }])
    const [resource] = host.resources()
    expect(resource?.resource).toMatchObject({
      uri: 'shop://orders?key=[X-Api-Key]',
      name: 'orders [X-Api-Key]',
    })
    await host.read('s', resource?.resource.uri ?? '')
    const read = one.server.calls.filter((call) => 'uri' in call)
    expect(read).toMatchObject([{ uri: `shop://orders?key=${canary.header}` }])
    expect(secretsIn(await everythingShown(host))).toEqual([])
    await host.close()
    expect(leaksIn(one.state)).toEqual([])

    const again = await one.host(lazy)
    expect(again.tools().map(({ name }) => name)).toEqual(['s__book'])
    expect(again.trust.server('s').items.every(({ state }) => state === 'pinned')).toBe(true)
  })

  it('in a definition is compared exactly: another one is a change', async () => {
    const definitions: ServerTexts = { description: `Books with ${canary.header}.` }
    const one = await setup(() => text('x'), definitions)
    await (await one.host()).close()
    definitions.description = 'Books with [X-Api-Key].'
    const host = await one.host()
    expect(host.tools()).toEqual([])
    expect(host.trust.server('s').items).toMatchObject([{ what: 'tool', state: 'quarantined' }])
  })

  it('is in no error of a call, a read or a completion', async () => {
    const one = await setup(() => ({ code: -32603, message: `Not with ${canary.header}` }))
    const host = await one.host()
    const call = await host.call('s__book', {}, cli)
    expect(textOf(call)).toContain('Not with [X-Api-Key]')
    const errors = await Promise.all([
      host.read('s', 'x:y').catch((error: unknown) => error),
      host
        .complete('s', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'b' } })
        .catch((error: unknown) => error),
    ])
    for (const error of errors) {
      const whole =
        error instanceof Error ? [error.message, error.stack, JSON.stringify(error)].join(' ') : ''
      expect(whole).not.toBe('')
      expect(secretsIn(whole)).toEqual([])
    }
    expect(secretsIn(await everythingShown(host))).toEqual([])
  })

  it('typed into a form reaches the server only', async () => {
    const one = await setup(({ inputResponses }, nth) =>
      nth === 1
        ? asksBack({ q: question })
        : text({ echo: JSON.stringify(inputResponses).includes(canary.form) ? canary.form : '' }),
    )
    const surface = person({ elicitation: () => ({ ...filled, remember: ['user', 'password', 'pin'] }) })
    const host = await one.host({ surface })
    const call = await host.call('s__book', {}, cli)
    expect(one.server.calls[1]?.inputResponses).toEqual({ q: filled })
    expect(secretsIn(textOf(call))).toEqual([])
    const whole = await everythingShown(host)
    expect(secretsIn(whole)).toEqual([])
    expect(/pin\\*"?:\s*4711/.exec(whole)?.[0]).toBeUndefined()
    expect(host.inbox.list({ state: 'answered' })[0]?.answer?.value).toMatchObject({
      content: { user: 'ada', password: '(not kept)', pin: '(not kept)' },
    })
    await host.close()
    expect(leaksIn(one.state)).toEqual([])
  })

  it('typed into a form in another program reaches only the waiting one, sealed for it', async () => {
    const one = await setup(({ inputResponses }, nth) =>
      nth === 1 ? asksBack({ q: question }) : text(inputResponses?.['q']),
    )
    const host = await one.host()
    const call = host.call('s__book', {}, cli)
    const id = await oneOpen(host)
    const other = await program('answerer.ts', { STORE: one.store })
    expect(await other.sendLine({ id, answer: filled })).toBe('answered')
    await call
    expect(one.server.calls[1]?.inputResponses).toEqual({ q: filled })
    expect(secretsIn(await everythingShown(host))).toEqual([])
    expect(leaksIn(one.state)).toEqual([])
    for (const { name } of filesIn(one.state).filter(({ name }) => /activity\.db(?:-\w+)?$/.test(name)))
      expect(statSync(name).mode & 0o077).toBe(0)
  })

  it('among the arguments of a suspended call is stored by name or sealed, and restored on resume', async () => {
    const one = await setup(({ inputResponses }, nth) =>
      nth === 1
        ? asksBack(
            { q: { ...question, params: { ...login, message: `As ${canary.header}?` } } },
            `state ${canary.header}`,
          )
        : text(inputResponses),
    )
    const first = await one.host()
    await first.secrets.set('office', canary.named)
    const args = {
      auth: { token: `Bearer ${canary.named}`, key: canary.header },
      list: [`${canary.named}${canary.header}`, '${secret:office}'],
    }
    const call = first.call('s__book', args, cli)
    const id = await oneOpen(first)
    expect(JSON.stringify(first.inbox.list())).toContain('As [X-Api-Key]?')
    await first.close()
    expect(await call).toMatchObject({ suspended: true })
    expect(leaksIn(one.state)).toEqual([])

    const second = await one.host()
    second.inbox.answer(id, filled, 'me')
    const done = (await second.inbox.resumed(id)) ?? (await call)
    expect(returned(done)).toMatchObject({ q: { action: 'accept' } })
    expect(secretsIn(JSON.stringify(done))).toEqual([])
    expect(one.server.calls[1]).toMatchObject({ arguments: args, requestState: `state ${canary.header}` })
    expect(one.server.calls[1]?.inputResponses).toEqual({ q: filled })
    expect(secretsIn(await everythingShown(second))).toEqual([])
    await second.close()
    expect(leaksIn(one.state)).toEqual([])
  })

  it('that is missing on resume is named, and the call stays', async () => {
    const one = await setup((_, nth) => (nth === 1 ? asksBack({ q: question }) : text('done')))
    const first = await one.host()
    await first.secrets.set('office', canary.named)
    const call = first.call('s__book', { token: canary.named }, cli)
    const id = await oneOpen(first)
    await first.close()
    await call
    const second = await one.host()
    await second.secrets.remove('office')
    second.inbox.answer(id, filled, 'me')
    await expect(second.inbox.resumed(id)).rejects.toMatchObject({
      message: expect.stringContaining('"office"'),
      fixes: [{ action: 'set-secret', name: 'office' }],
    })
    await second.secrets.set('office', canary.named)
    expect(textOf((await second.inbox.resumed(id)) ?? (await call))).toBe('"done"')
    expect(one.server.calls[1]).toMatchObject({ arguments: { token: canary.named } })
  })

  it('typed for a call that could not be resumed yet is asked for again by the resuming program', async () => {
    const seatQuestion = {
      message: 'Which seat?',
      requestedSchema: { type: 'object' as const, properties: { seat: { type: 'string' as const } } },
    }
    const asks = asksBack({ a: question, b: { method: 'elicitation/create', params: seatQuestion } })
    const one = await setup(({ inputResponses }, nth) => (nth === 1 ? asks : text(inputResponses)))
    const first = await one.host()
    const call = first.call('s__book', {}, cli)
    await until(() => first.inbox.list().length === 2, 'both questions')
    const [a = '', b = ''] = first.inbox.list().map(({ id }) => id)
    await first.close()
    await call
    const second = await one.host()
    second.inbox.answer(a, filled, 'me')
    expect(second.inbox.resumed(a)).toBeUndefined()
    await second.close()
    expect(leaksIn(one.state)).toEqual([])

    const third = await one.host()
    third.inbox.answer(b, { action: 'accept', content: { seat: '1A' } }, 'me')
    const again = await oneOpen(third)
    expect(again).not.toBe(a)
    third.inbox.answer(again, filled, 'me')
    await third.inbox.resumed(b)
    expect(one.server.calls[1]?.inputResponses).toMatchObject({
      a: filled,
      b: { content: { seat: '1A' } },
    })
    expect(leaksIn(one.state)).toEqual([])
  })

  it('is not stored for other programs if nothing could seal it', async () => {
    const one = await setup(() => asksBack({ q: question }))
    const first = await one.host({}, false)
    const call = first.call('s__book', { key: canary.header }, cli)
    const id = await oneOpen(first)
    await first.close()
    expect(await call).not.toHaveProperty('suspended')
    expect(leaksIn(one.state)).toEqual([])
    const second = await one.host({ credentials: memoryStore() })
    expect(second.inbox.get(id)?.state).toBe('lost')
  })

  it('is hidden on surfaces in an approval, and sent unchanged after an edit around it', async () => {
    const one = await setup(() => text('done'))
    const surface = person({
      approval: ({ arguments: given }) => ({ verdict: 'allow', arguments: { ...given, more: true } }),
    })
    const host = await one.host({ surface, rules: [] })
    await host.call('s__book', { key: canary.header }, { caller: 'chat' })
    expect(secretsIn(JSON.stringify(surface.asked))).toEqual([])
    expect(surface.asked[0]).toMatchObject({ arguments: { key: '[X-Api-Key]' } })
    expect(one.server.calls).toMatchObject([{ arguments: { key: canary.header, more: true } }])
    expect(secretsIn(await everythingShown(host))).toEqual([])
  })

  it('does not reach a model through any text, result or question of a server', async () => {
    const one = await setup(() => text(`given ${canary.header}`), {
      instructions: `Say ${canary.header}`,
      description: `Knows ${canary.header}`,
    })
    const requests: ModelRequest[] = []
    const model: Model = {
      id: 'm',
      isLanguageModel: true,
      async generate(request) {
        const { signal: _signal, ...data } = request
        requests.push(structuredClone(data))
        const content =
          requests.length === 1
            ? { type: 'tool_use' as const, id: '1', name: 's__book', input: {} }
            : { type: 'text' as const, text: 'ok' }
        return { content, stopReason: requests.length === 1 ? 'toolUse' : 'endTurn', model: 'm' }
      },
    }
    const host = await one.host({ models: [model] })
    await createConversation({ host, model }).say('Book')
    expect(requests).toHaveLength(2)
    expect(JSON.stringify(requests)).toContain('[X-Api-Key]')
    expect(secretsIn(JSON.stringify(requests))).toEqual([])
  })

  it('given to a program is in no command line of the system', async () => {
    const one = folder()
    const script = sessionProgram()
    const host = hostOf({
      servers: {
        s: {
          command: process.execPath,
          args: [script],
          env: { LOG: join(one, 'ran.log'), TOKEN: '${secret:env}' },
          from: { file: join(one, 'mcp.json'), layer: 'named' },
        },
      },
      rules,
    })
    await host.secrets.set('env', canary.env)
    await host.start()
    expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
    const lines = existsSync('/proc')
      ? readdirSync('/proc')
          .filter((name) => /^\d+$/.test(name))
          .map((pid) => {
            try {
              return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
            } catch {
              return ''
            }
          })
      : []
    expect(lines.filter((line) => line.includes(script)).length).toBeGreaterThan(0)
    expect(lines.filter((line) => line.includes(canary.env))).toEqual([])
    expect(secretsIn(await everythingShown(host))).toEqual([])
  })
})
