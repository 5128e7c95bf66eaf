import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HostAnswers, HostOptions, Question, ServerConfig } from '../../src/types/index.ts'
import {
  filesystem,
  folder,
  hostOf,
  returned,
  session,
  started,
  textOf,
  until,
  type Watched,
} from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'
import { named, withoutSandbox } from '../sandbox/bubblewrap.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]
const uri = (path: string): string => pathToFileURL(path).href
const fresh = (): string => realpathSync(folder())

/** A surface whose user answers questions about roots, by default with yes. */
function personWithRoots(
  answer: (question: Question<'roots'>) => HostAnswers['roots'] = () => ({ verdict: 'allow' }),
) {
  return person({ roots: answer })
}

function inside(above: string, ...names: string[]): string {
  const made = join(above, ...names)
  mkdirSync(made, { recursive: true })
  return made
}

async function hostFor(
  options: Partial<HostOptions>,
  config: ServerConfig = session().config,
): Promise<Watched> {
  return started({ servers: { s: config }, rules, home: fresh(), ...options })
}

async function rootsSeenBy(host: Watched, server = 's'): Promise<string[]> {
  const result = returned(await host.call(`${server}__roots`, {}, cli))
  const { answer } = result as { answer: { roots: { uri: string }[] } }
  return answer.roots.map((root) => root.uri)
}

function changes(): Pick<HostOptions, 'connect'> & { count: (server?: string) => number } {
  const notified: string[] = []
  return {
    connect: {
      onMessage: (server, direction, message) => {
        if (direction === 'sent' && 'method' in message && message.method.endsWith('roots/list_changed'))
          notified.push(server)
      },
    },
    count: (server = 's') => notified.filter((name) => name === server).length,
  }
}

describe('the open folders', () => {
  it('are the working folder, its repository, and those of the configuration', async () => {
    const [repository, other] = [fresh(), fresh()]
    mkdirSync(join(repository, '.git'))
    const workspace = inside(repository, 'packages', 'one')
    const host = await hostFor({
      workspace,
      roots: [{ uri: uri(other), name: 'other' }],
      surface: personWithRoots(),
    })
    expect(await host.roots.list()).toMatchObject([
      { uri: uri(other), name: 'other', from: 'configured', findings: [] },
      { uri: uri(workspace), name: 'one', from: 'workspace', findings: [{ code: 'nested' }] },
      { uri: uri(repository), from: 'repository', findings: [] },
    ])
    expect(await rootsSeenBy(host)).toEqual([uri(other), uri(workspace), uri(repository)])
  })

  it('do not include the home folder because it is a repository', async () => {
    const home = fresh()
    mkdirSync(join(home, '.git'))
    const host = hostOf({ workspace: inside(home, 'project'), home })
    expect((await host.roots.list()).map(({ from }) => from)).toEqual(['workspace'])
  })

  it("are offered to servers of the user's own configuration too", async () => {
    const workspace = fresh()
    const from = { file: join(fresh(), 'config.json'), layer: 'user' as const }
    const host = await hostFor({ workspace, surface: personWithRoots() }, { ...session().config, from })
    expect(await rootsSeenBy(host)).toEqual([uri(workspace)])
  })

  it('have their warnings', async () => {
    const [workspace, elsewhere, home] = [fresh(), fresh(), fresh()]
    const link = join(fresh(), 'link')
    symlinkSync(elsewhere, link)
    symlinkSync(elsewhere, join(workspace, 'way-out'))
    writeFileSync(join(workspace, 'file'), '')
    const roots = [
      join(workspace, 'gone'),
      join(workspace, 'file'),
      join(workspace, 'way-out'),
      link,
      elsewhere,
      inside(workspace, 'src'),
      home,
      '/',
    ].map((path) => ({ uri: uri(path) }))
    const host = hostOf({ workspace, roots, home })
    const found = (await host.roots.list())
      .slice(0, -1)
      .map(({ findings }) => findings.map(({ code }) => code))
    expect(found).toEqual([
      ['missing'],
      ['no-folder'],
      ['escape'],
      ['link', 'nested'],
      ['duplicate'],
      ['nested'],
      ['nested', 'home'],
      ['everything'],
    ])
  })

  it('are stored for the working folder', async () => {
    const [store, one, other, added] = [join(fresh(), 'store.db'), fresh(), fresh(), fresh()]
    const first = hostOf({ store, workspace: one })
    await first.roots.add(added, 'more')
    first.roots.exclude('secret')
    await first.close()
    const again = hostOf({ store, workspace: one })
    expect(await again.roots.list()).toMatchObject([{ from: 'workspace' }, { uri: uri(added), name: 'more' }])
    expect(again.roots.excluded()).toEqual(['secret'])
    await again.close()
    const elsewhere = hostOf({ store, workspace: other })
    expect(await elsewhere.roots.list()).toHaveLength(1)
    expect(elsewhere.roots.excluded()).toEqual([])
  })
})

describe('an added folder', () => {
  it.each([
    'file:///srv/../etc',
    'file:///srv/%2e%2e/etc',
    'file://other.example/srv',
    'https://example.com/',
    'relative',
    '/no/such/folder',
  ])('is rejected: %s', async (place) => {
    const host = hostOf({})
    await expect(host.roots.add(place)).rejects.toMatchObject({ code: 'INVALID' })
    expect(await host.roots.list()).toEqual([])
  })

  it('is rejected if a link in an open folder leads out of it', async () => {
    const [workspace, outside] = [fresh(), fresh()]
    symlinkSync(outside, join(workspace, 'data'))
    const host = hostOf({ workspace })
    await expect(host.roots.add(join(workspace, 'data'))).rejects.toThrow(/is a link out of it/)
    symlinkSync(inside(workspace, 'real'), join(workspace, 'alias'))
    expect(await host.roots.add(join(workspace, 'alias'))).toMatchObject({
      findings: [{ code: 'link' }, { code: 'nested' }],
    })
  })

  it('is excluded while a pattern matches it', async () => {
    const above = fresh()
    const [one, two] = [inside(above, 'one'), inside(above, 'deep', 'secret', 'two')]
    const host = await hostFor({ roots: [{ uri: uri(one) }, { uri: uri(two) }], surface: personWithRoots() })
    host.roots.exclude('secret')
    expect(await rootsSeenBy(host)).toEqual([uri(one)])
    host.roots.exclude(`${above}/o*`)
    expect(await rootsSeenBy(host)).toEqual([])
    expect(host.roots.include(`${above}/o*`)).toBe(true)
    expect(await rootsSeenBy(host)).toEqual([uri(one)])
    await expect(host.roots.add(inside(above, 'secret'))).rejects.toThrow(/excluded by "secret"/)
    expect(() => host.roots.exclude('some/path')).toThrow(/not a pattern/)
  })
})

describe.each(['session', 'stateless'] as const)('consent (%s)', (era) => {
  const configOf = async (): Promise<ServerConfig> => {
    if (era === 'session') return session().config
    const server = await statelessServer()
    onTestFinished(() => server.stop())
    return { url: server.url }
  }

  it('is asked for once with what the server would see, and stored', async () => {
    const [store, workspace, home] = [join(fresh(), 'store.db'), fresh(), fresh()]
    inside(workspace, 'src')
    inside(workspace, '.ssh')
    writeFileSync(join(workspace, '.env'), '')
    writeFileSync(join(workspace, 'readme.md'), '')
    const surface = personWithRoots()
    const config = await configOf()
    const first = await hostFor({ store, workspace, home, surface }, config)
    expect(await rootsSeenBy(first)).toEqual([uri(workspace)])
    expect(surface.asked).toMatchObject([
      {
        kind: 'roots',
        roots: [{ uri: uri(workspace) }],
        folders: [
          {
            uri: uri(workspace),
            folders: 2,
            files: 2,
            more: false,
            names: ['readme.md', 'src/'],
            isNew: false,
          },
        ],
      },
    ])
    const [question] = surface.asked
    const codes =
      question?.kind === 'roots'
        ? question.folders?.flatMap(({ findings }) => findings.map(({ code }) => code))
        : []
    expect(codes?.toSorted()).toEqual(['environment', 'keys'])
    await first.close()
    // Nobody is needed for what was agreed to.
    const second = await hostFor({ store, workspace, home, surface: person({}) }, config)
    expect(await rootsSeenBy(second)).toEqual([uri(workspace)])
    expect(second.activity({ kind: 'roots' }).at(-1)).toMatchObject({
      outcome: 'ok',
      detail: { asked: false },
    })
    expect(await second.roots.servers()).toMatchObject([
      { server: 's', state: 'allowed', roots: [{ uri: uri(workspace) }], asks: [], asked: { count: 2, era } },
    ])
  })

  it('is asked for again when there are more folders, with the new ones marked', async () => {
    const [workspace, more] = [fresh(), fresh()]
    const surface = personWithRoots()
    const host = await hostFor({ workspace, surface }, await configOf())
    await rootsSeenBy(host)
    await host.roots.add(more)
    expect(await rootsSeenBy(host)).toEqual([uri(workspace), uri(more)])
    expect(surface.asked).toHaveLength(2)
    expect(surface.asked[1]).toMatchObject({ folders: [{ isNew: false }, { isNew: true }] })
    await host.roots.remove(more)
    expect(await rootsSeenBy(host)).toEqual([uri(workspace)])
    expect(surface.asked).toHaveLength(2)
  })

  it('may be given for some folders, and never for others than were shown', async () => {
    const [workspace, more, strange] = [fresh(), fresh(), fresh()]
    const roots = [{ uri: uri(more) }]
    const surface = personWithRoots(() => ({ verdict: 'allow', roots: [...roots, { uri: uri(strange) }] }))
    const host = await hostFor({ workspace, roots, surface }, await configOf())
    expect(await rootsSeenBy(host)).toEqual([uri(more)])
    expect(await rootsSeenBy(host)).toEqual([uri(more)])
    expect(surface.asked).toHaveLength(1)
  })

  it('that is refused leaves the server without roots, with a row', async () => {
    const [store, workspace, home] = [join(fresh(), 'store.db'), fresh(), fresh()]
    const config = await configOf()
    const surface = personWithRoots(() => ({ verdict: 'deny' }))
    const first = await hostFor({ store, workspace, home, surface }, config)
    expect(await rootsSeenBy(first)).toEqual([])
    expect(first.activity({ kind: 'roots' })).toMatchObject([{ outcome: 'denied', server: 's' }])
    await first.close()
    const second = await hostFor({ store, workspace, home, surface }, config)
    await second.roots.add(fresh())
    expect(await rootsSeenBy(second)).toEqual([])
    expect(surface.asked).toHaveLength(1)
    expect(await second.roots.servers()).toMatchObject([{ state: 'denied', roots: [], asks: [] }])
    expect(second.roots.forget('s')).toBe(true)
    await rootsSeenBy(second)
    expect(surface.asked).toHaveLength(2)
  })

  it('does not apply to a replaced folder', async () => {
    const above = fresh()
    const [project, target] = [inside(above, 'project'), inside(above, 'target')]
    const surface = personWithRoots()
    const host = await hostFor({ roots: [{ uri: uri(project) }], surface }, await configOf())
    expect(await rootsSeenBy(host)).toEqual([uri(project)])
    renameSync(project, join(above, 'moved'))
    symlinkSync(target, project)
    await rootsSeenBy(host)
    expect(surface.asked).toHaveLength(2)
    expect(surface.asked[1]).toMatchObject({
      folders: [{ isNew: true, real: target, findings: [{ code: 'link' }] }],
    })
  })
})

describe('one question per server and workspace', () => {
  it('serves two servers of one identity, and requests on several connections', async () => {
    const workspace = fresh()
    const answer = Promise.withResolvers<HostAnswers['roots']>()
    const surface = person({ roots: () => answer.promise })
    const { config } = session()
    const host = await started({
      servers: { a: config, b: config },
      rules,
      workspace,
      home: fresh(),
      surface,
    })
    const all = [rootsSeenBy(host, 'a'), rootsSeenBy(host, 'b'), rootsSeenBy(host, 'a')]
    await until(() => host.activity({ kind: 'roots' }).length === 3, 'all three requests')
    answer.resolve({ verdict: 'allow' })
    expect(await Promise.all(all)).toEqual([[uri(workspace)], [uri(workspace)], [uri(workspace)]])
    expect(surface.asked).toHaveLength(1)
  })

  it('asks again only about folders that were not in the question of the other server', async () => {
    const [one, two] = [fresh(), fresh()]
    const answer = Promise.withResolvers<HostAnswers['roots']>()
    const surface = person({ roots: () => answer.promise })
    const { config } = session()
    const servers = {
      a: { ...config, roots: [{ uri: uri(one) }] },
      b: { ...config, roots: [{ uri: uri(two) }] },
    }
    const host = await started({ servers, rules, home: fresh(), surface })
    const all = [rootsSeenBy(host, 'a'), rootsSeenBy(host, 'b')]
    await until(() => host.activity({ kind: 'roots' }).length === 2, 'both requests')
    answer.resolve({ verdict: 'allow' })
    expect(await Promise.all(all)).toEqual([[uri(one)], [uri(two)]])
    const about = surface.asked.flatMap((asked) => (asked.kind === 'roots' ? [asked.roots] : []))
    expect(about.map((roots) => roots.map((root) => root.uri)).toSorted()).toEqual(
      [[uri(one)], [uri(two)]].toSorted(),
    )
  })

  it('outlives its request while another one waits', async () => {
    const workspace = fresh()
    const answer = Promise.withResolvers<HostAnswers['roots']>()
    const surface = person({ roots: () => answer.promise })
    const server = await statelessServer()
    onTestFinished(() => server.stop())
    const host = await hostFor({ workspace, surface }, { url: server.url })
    const stop = new AbortController()
    const first = host.call('s__roots', {}, { ...cli, signal: stop.signal })
    await until(() => surface.asked.length === 1, 'the question')
    const second = rootsSeenBy(host)
    await until(() => host.activity({ kind: 'roots' }).length === 2, 'the second request')
    stop.abort()
    await first
    answer.resolve({ verdict: 'allow' })
    expect(await second).toEqual([uri(workspace)])
    expect(surface.asked).toHaveLength(1)
  })

  it('is settled by the answer in another program on the store, and by a command', async () => {
    const [store, workspace, home] = [join(fresh(), 'store.db'), fresh(), fresh()]
    const { config } = session()
    const signals: AbortSignal[] = []
    const silent = person({
      roots: (_, signal) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    const chat = await hostFor({ store, workspace, home, surface: silent }, config)
    const inChat = rootsSeenBy(chat)
    await until(() => signals.length === 1, 'the question')
    const call = await hostFor({ store, workspace, home, surface: personWithRoots() }, config)
    expect(await rootsSeenBy(call)).toEqual([uri(workspace)])
    expect(await inChat).toEqual([uri(workspace)])
    expect(signals[0]?.aborted).toBe(true)
    expect(chat.inbox.list({ state: 'open' })).toEqual([])

    call.roots.forget('s')
    const again = rootsSeenBy(chat)
    await until(() => signals.length === 2, 'the second question')
    await chat.roots.allow('s', 'a command')
    expect(await again).toEqual([uri(workspace)])
    expect(signals[1]?.aborted).toBe(true)
  })

  it('is not repeated after a restart of the server or the host, nor for another spelling of the folder', async () => {
    const [store, workspace, home, more] = [join(fresh(), 'store.db'), fresh(), fresh(), fresh()]
    const { config } = session()
    const surface = personWithRoots()
    const first = await hostFor({ store, workspace, home, roots: [{ uri: uri(more) }], surface }, config)
    await rootsSeenBy(first)
    await first.reconnect('s')
    expect(await rootsSeenBy(first)).toEqual([uri(more), uri(workspace)])
    await first.close()
    const roots = [{ uri: `${uri(more)}/` }]
    const second = await hostFor({ store, workspace, home, roots, surface }, config)
    expect(await rootsSeenBy(second)).toHaveLength(2)
    expect(surface.asked).toHaveLength(1)
  })

  it('is not repeated for folders that are open only in some runs', async () => {
    const [store, workspace, home, one, two] = [join(fresh(), 'store.db'), fresh(), fresh(), fresh(), fresh()]
    const { config } = session()
    const surface = personWithRoots()
    const run = async (...folders: string[]): Promise<string[]> => {
      const roots = folders.map((path) => ({ uri: uri(path) }))
      const host = await hostFor({ store, workspace, home, roots, surface }, config)
      const seen = await rootsSeenBy(host)
      await host.close()
      return seen
    }
    expect(await run(one)).toEqual([uri(one), uri(workspace)])
    expect(await run(two)).toEqual([uri(two), uri(workspace)])
    expect(surface.asked).toHaveLength(2)
    expect(await run(one)).toEqual([uri(one), uri(workspace)])
    expect(await run(one, two)).toEqual([uri(one), uri(two), uri(workspace)])
    expect(await run()).toEqual([uri(workspace)])
    expect(surface.asked).toHaveLength(2)
  })
})

describe('the roots of a server', () => {
  it('are empty if its configuration disables them, without a question', async () => {
    const surface = personWithRoots()
    const host = await hostFor({ workspace: fresh(), surface }, { ...session().config, roots: false })
    const description = returned(await host.call('s__client', {}, cli))
    expect(description).not.toHaveProperty('capabilities.roots')
    expect(await host.roots.servers()).toMatchObject([{ state: 'off', roots: [], asks: [] }])
  })

  it('are separate from those of other servers', async () => {
    const [workspace, forA] = [fresh(), fresh()]
    const { connect, count } = changes()
    const surface = personWithRoots()
    const a = { ...session().config, roots: [{ uri: uri(forA), name: 'for a' }] }
    const host = await started({
      servers: { a, b: session().config },
      rules,
      workspace,
      surface,
      ...(connect !== undefined && { connect }),
    })
    expect(await rootsSeenBy(host, 'a')).toEqual([uri(forA)])
    expect(await rootsSeenBy(host, 'b')).toEqual([uri(workspace)])
    const about = surface.asked.map(
      (question) =>
        question.kind === 'roots' && [question.cause.server, question.roots.map((root) => root.uri)],
    )
    expect(about).toEqual([
      ['a', [uri(forA)]],
      ['b', [uri(workspace)]],
    ])
    rmSync(forA, { recursive: true })
    await until(() => count('a') === 1, 'the notification of a')
    expect(await rootsSeenBy(host, 'a')).toEqual([])
    expect(count('b')).toBe(0)
  })

  it("follow the user's decisions at once", async () => {
    const [workspace, more] = [fresh(), fresh()]
    const { connect, count } = changes()
    const host = await hostFor({
      workspace,
      roots: [{ uri: uri(more) }],
      surface: personWithRoots(),
      ...(connect && { connect }),
    })
    expect(await rootsSeenBy(host)).toEqual([uri(more), uri(workspace)])
    await host.roots.allow('s', 'test', [more])
    expect(count()).toBe(1)
    expect(await rootsSeenBy(host)).toEqual([uri(more)])
    await host.roots.deny('s', 'test')
    expect(count()).toBe(2)
    expect(await rootsSeenBy(host)).toEqual([])
    await expect(host.roots.allow('s', 'test', ['/usr'])).rejects.toThrow(/not open to s/)
  })
})

describe('the official file server', () => {
  it('sees added folders and loses removed ones', async () => {
    const [workspace, more] = [fresh(), fresh()]
    writeFileSync(join(more, 'note'), 'hello')
    // It starts with another folder, so that the workspace is there once it has taken up its first roots: it may take up
    // two lists of them in the wrong order.
    const host = await hostFor({ workspace, surface: personWithRoots() }, filesystem(fresh()))
    const allowed = async (): Promise<string> =>
      textOf(await host.call('s__list_allowed_directories', {}, cli))
    const within = { timeout: 10_000, interval: 20 }
    await expect.poll(allowed, within).toContain(workspace)
    await host.roots.add(more)
    await expect.poll(allowed, within).toContain(more)
    const read = { path: join(more, 'note') }
    expect(textOf(await host.call('s__read_text_file', read, cli))).toBe('hello')
    await host.roots.remove(more)
    await expect.poll(allowed, within).not.toContain(more)
    expect((await host.call('s__read_text_file', read, cli)).result.isError).toBe(true)
  })
})

describe.skipIf(withoutSandbox !== undefined)(named('a server in a sandbox'), () => {
  const prying = new URL('../fixtures/prying-server.ts', import.meta.url).pathname

  it('can read allowed roots in a sandbox, and write none', async () => {
    const [store, workspace, home] = [join(fresh(), 'store.db'), fresh(), fresh()]
    const file = join(workspace, 'file')
    writeFileSync(file, 'contents')
    const config = { command: process.execPath, args: [prying], sandbox: true }
    const host = await hostFor({ store, workspace, home, surface: personWithRoots() }, config)
    const tried = async (tool: string, args: object): Promise<string> =>
      textOf(await host.call(`s__${tool}`, { ...args }, cli))
    expect(await tried('read', { path: file })).toMatch(/ENOENT/)
    await host.roots.allow('s', 'test')
    await host.reconnect('s')
    expect(await tried('read', { path: file })).toBe('"contents"')
    expect(await tried('write', { path: file, text: '' })).toMatch(/EROFS/)
    await host.roots.deny('s', 'test')
    await host.reconnect('s')
    expect(await tried('read', { path: file })).toMatch(/ENOENT/)
  })
})
