import type { Server } from '@jackfield/sdk'
import { parse as parseYaml, stringify as toYaml } from 'yaml'
import { z } from 'zod'
import { connect } from '../../../packages/sdk/src/client/index.ts'
import { skillsClient } from '../../../packages/sdk/src/extensions/skills/client/index.ts'
import { digestOf, parseFrontmatter } from '../../../packages/sdk/src/extensions/skills/entry.ts'
import { skill, skills } from '../../../packages/sdk/src/extensions/skills/index.ts'
import { tasksClient } from '../../../packages/sdk/src/extensions/tasks/client/index.ts'
import { tasks } from '../../../packages/sdk/src/extensions/tasks/index.ts'
import { app, shownIn, ui } from '../../../packages/sdk/src/extensions/ui/index.ts'
import { defineServer, tool } from '../../../packages/sdk/src/index.ts'
import { RpcError } from '../../../packages/sdk/src/jsonrpc/error.ts'
import { parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { isObject } from '../../setup/json.ts'
import { Broken, isTyped, mustHold, type Target } from './fuzz-target.ts'
import type { Form } from './mutate.ts'
import { type SchemaPeer, schemaPeer } from './schema-peer.ts'

const skillText = '---\nname: pdf\ndescription: Works on PDFs\nmetadata: {version: 1.0}\n---\n# PDF\n'
const skillUri = 'skill://pdf/SKILL.md'

/** What peers say to tasks, apps and skills, of either side. */
export function extensionTargets(): Target[] {
  const faults: unknown[] = []
  const server = extended(faults)
  const connections = new Map<Era, Promise<Connection>>()
  let connected: Promise<ConnectedPeer> | undefined
  return [
    {
      name: 'requests of extensions',
      share: 2,
      seeds: requests,
      allows: isTyped,
      async run(input, random) {
        const value = parseJson(input.toString('utf8'))
        const era = random.pick(eras)
        const known = random.fraction() < 0.01 ? undefined : connections.get(era)
        const begins = known ?? begun(server, era)
        connections.set(era, begins)
        const connection = await begins
        await connection.receive(named(value, connection.task))
        if (faults.length > 0) throw faults[0]
      },
    },
    {
      name: 'tasks and skills of servers',
      share: 2,
      seeds: answers,
      allows: isTyped,
      async run(input, random) {
        if (connected === undefined || random.fraction() < 0.02) connected = connectedPeer()
        await followed(await connected, input)
      },
    },
    { name: 'frontmatter', share: 1, seeds: frontmatters, form: inFrontmatter, run: front, allows: isTyped },
  ]
}

function extended(faults: unknown[]): Server {
  const page = app({ uri: 'ui://fuzzed/page', html: '<!doctype html><title>t</title>' })
  return defineServer({
    name: 'extended',
    version: '1.0.0',
    onError: (error) => {
      if (!(error instanceof RpcError)) faults.push(error)
    },
    extensions: [
      tasks({ maxTasks: 64, maxTasksPerPrincipal: 64, ttlMs: 60_000 }),
      ui({ page }),
      skills([skill({ text: skillText, files: { 'a/b.md': '# B\n' } })]),
    ],
    tools: {
      quick: tool({ task: 'optional', input: z.looseObject({}), run: () => 'done' }),
      asks: tool({
        task: 'optional',
        run: async (_, ctx) => {
          const { action } = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          return action
        },
      }),
      shown: tool({ meta: shownIn(page, { visibility: ['app'] }), run: () => 'shown' }),
    },
  })
}

const eras = ['2025-11-25', '2026-07-28'] as const
type Era = (typeof eras)[number]
const capabilities = {
  elicitation: { form: {} },
  extensions: {
    'io.modelcontextprotocol/tasks': {},
    'io.modelcontextprotocol/skills': {},
    'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
  },
}
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
}

function saying(method: string, params: object, version: Era): string {
  const own = version === '2026-07-28' ? { ...params, _meta: meta } : params
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: own })
}

const initialize = saying(
  'initialize',
  { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'c', version: '1' } },
  '2025-11-25',
)
/** Stands for the id of a task that there is. */
const taskId = 'TASK'
const requests: [string, ...string[]] = [
  initialize,
  ...eras.flatMap((version) => [
    saying('tasks/get', { taskId }, version),
    saying('tasks/cancel', { taskId }, version),
    saying('tools/call', { name: 'quick', arguments: { a: 1 }, task: { ttl: 60_000 } }, version),
    saying('tools/call', { name: 'asks', arguments: {}, task: {} }, version),
    saying('tools/call', { name: 'shown', arguments: {} }, version),
    saying('tools/list', { cursor: 'AAAA' }, version),
    saying('resources/list', {}, version),
    saying('resources/read', { uri: 'ui://fuzzed/page' }, version),
    saying('resources/read', { uri: 'skill://pdf/a/b.md' }, version),
    saying('skills/list', { cursor: 'AAAA' }, version),
    saying('skills/get', { uri: skillUri }, version),
    saying('resources/directory/read', { uri: 'skill://pdf' }, version),
  ]),
  saying('tasks/list', { cursor: 'MSBh' }, '2025-11-25'),
  saying('tasks/result', { taskId }, '2025-11-25'),
  saying(
    'tasks/update',
    { taskId, inputResponses: { 'elicit-1': { action: 'accept', content: { ok: true } } } },
    '2026-07-28',
  ),
  saying('subscriptions/listen', { notifications: { taskIds: [taskId] } }, '2026-07-28'),
]

/** One connection on which there is a task that asks. No request is answered that was not made, or twice. */
class Connection {
  readonly #duplex: DuplexConnection
  readonly #open: unknown[] = []
  #strange: unknown
  /** The id of the task. */
  task = 'none'

  constructor(server: Server) {
    this.#duplex = new DuplexConnection(server, (message) => {
      if ('method' in message || message.id === undefined) return
      const at = this.#open.indexOf(message.id)
      if (at === -1) this.#strange = message
      else this.#open.splice(at, 1)
      const [, id = this.task] = /"taskId":"([^"]+)"/.exec(JSON.stringify(message)) ?? []
      if (this.task === 'none') this.task = id
    })
  }

  async receive(value: unknown): Promise<void> {
    const all: unknown[] = Array.isArray(value) ? value : [value]
    for (const one of all) this.#open.push(Object(one).id)
    this.#duplex.receive(value)
    await turns(3)
    if (this.#strange !== undefined) throw new Broken(`an answer too many: ${JSON.stringify(this.#strange)}`)
  }
}

async function begun(server: Server, era: Era): Promise<Connection> {
  const connection = new Connection(server)
  if (era === '2025-11-25') {
    await connection.receive(JSON.parse(initialize))
    await connection.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }
  await connection.receive(JSON.parse(saying('tools/call', { name: 'asks', arguments: {}, task: {} }, era)))
  return connection
}

/** The same message, about a task that there is. */
function named(value: unknown, task: string): unknown {
  const { params } = Object(value)
  return isObject(params) && params['taskId'] === taskId
    ? { ...Object(value), params: { ...params, taskId: task } }
    : value
}

const state = {
  taskId: 't',
  status: 'completed',
  statusMessage: 'm',
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttlMs: 60_000,
  pollIntervalMs: 50,
}
const content = [{ type: 'text', text: 'done' }]
const entry = {
  uri: skillUri,
  frontmatter: { name: 'pdf', description: 'Works on PDFs', metadata: { version: 1 } },
  resources: [
    { uri: skillUri, digest: await digestOf(Buffer.from(skillText)), size: Buffer.byteLength(skillText) },
  ],
}
const answers: [string, ...string[]] = [
  JSON.stringify({ 'tasks/get': { ...state, result: { content } } }),
  ...[
    { 'tasks/get': { ...state, status: 'failed', error: { code: 1, message: 'm', data: {} } } },
    {
      'tasks/get': {
        ...state,
        status: 'input_required',
        inputRequests: {
          a: {
            method: 'elicitation/create',
            params: { message: 'm', requestedSchema: { type: 'object', properties: {} } },
          },
        },
      },
    },
    { 'tools/call': { ...state, resultType: 'task', status: 'working' } },
    { 'tasks/cancel': {}, 'tasks/get': { ...state, status: 'cancelled' } },
    { 'skills/list': { skills: [entry], nextCursor: 'c' } },
    { 'skills/get': { skill: entry } },
    { 'resources/read': { contents: [{ uri: skillUri, mimeType: 'text/markdown', text: skillText }] } },
    {
      'resources/read': {
        contents: [{ uri: skillUri, blob: Buffer.from(skillText).toString('base64') }],
      },
    },
    { 'resources/directory/read': { resources: [{ uri: skillUri, name: 'SKILL.md', size: 1 }] } },
  ].map((one) => JSON.stringify(one)),
]
const right: Readonly<Record<string, unknown>> = {
  'server/discover': {
    supportedVersions: ['2026-07-28'],
    capabilities: {
      tools: {},
      resources: {},
      extensions: {
        'io.modelcontextprotocol/tasks': {},
        'io.modelcontextprotocol/skills': { directoryRead: true },
      },
    },
    serverInfo: { name: 's', version: '1' },
    ttlMs: 0,
    cacheScope: 'private',
  },
  'tools/list': { tools: [], ttlMs: 0, cacheScope: 'private' },
  'tools/call': { ...state, resultType: 'task', status: 'working' },
  'tasks/get': { ...state, result: { content } },
  'skills/get': { skill: entry },
  'skills/list': { skills: [entry] },
  'resources/read': { contents: [{ uri: skillUri, text: skillText }], ttlMs: 0, cacheScope: 'private' },
}

/** A client of both extensions, and its peer. */
interface ConnectedPeer {
  readonly peer: SchemaPeer
  readonly client: Awaited<ReturnType<typeof connect>>
  readonly tasks: ReturnType<typeof tasksClient>
  readonly skills: ReturnType<typeof skillsClient>
}

async function connectedPeer(): Promise<ConnectedPeer> {
  const peer = schemaPeer((method) => ({ result: { resultType: 'complete', ...Object(right[method]) } }))
  const extensions = { tasks: tasksClient(), skills: skillsClient() }
  const client = await connect(peer.link, {
    extensions: [extensions.tasks, extensions.skills],
    revisions: ['2026-07-28'],
    onWarning: () => {},
    onElicit: () => ({ action: 'cancel' }),
  })
  return { peer, client, ...extensions }
}

/** Makes every request, with one invalid answer; returned values must have their declared shape. */
async function followed({ peer, client, tasks, skills }: ConnectedPeer, input: Buffer): Promise<void> {
  const wrong = parseJson(input.toString('utf8'))
  if (!isObject(wrong)) return
  peer.answer = (method) => {
    const own = Object.hasOwn(wrong, method) ? wrong[method] : right[method]
    return { result: isObject(own) ? { resultType: 'complete', ...own } : own }
  }
  const stop = new AbortController()
  const options = { signal: stop.signal, cache: 'refresh' as const }
  const until = turns(30).then(() => stop.abort())
  const failures: unknown[] = []
  const attempt = (work: Promise<void>): Promise<void> =>
    work.catch((error) => {
      if (error === stop.signal.reason || isTyped(error)) return
      failures.push(error)
    })
  await Promise.all([
    until,
    attempt(
      tasks
        .resume(client, 't')
        .state(options)
        .then((found) => {
          mustHold(found.taskId !== '' && typeof found.createdAt === 'string', 'a task is none')
          mustHold((found.pollIntervalMs ?? 1) > 0, 'a task is looked at all the time')
        }),
    ),
    attempt(
      client.call('asks', {}, options).then((result) => {
        mustHold(Array.isArray(result.content), 'what a task gives is no result')
      }),
    ),
    attempt(
      skills.list(client, options).then((found) => {
        mustHold(
          found.every(({ frontmatter }) => /^[a-z0-9-]+$/.test(frontmatter.name)),
          'a skill has another name than skills have',
        )
      }),
    ),
    attempt(
      skills.get(client, skillUri, options).then(async (found) => {
        const { text, skill: loaded } = await skills.load(client, found, options)
        const all = loaded.resources === 'dynamic' ? [] : loaded.resources
        const promised = all.find(({ uri }) => uri === loaded.uri)
        mustHold(promised?.digest === (await digestOf(Buffer.from(text))), 'a skill is not what was promised')
      }),
    ),
    attempt(
      skills.directory(client, 'skill://pdf', options).then((found) => {
        mustHold(
          found.every(({ uri, name }) => typeof uri === 'string' && typeof name === 'string'),
          'a directory holds what is no file',
        )
      }),
    ),
  ])
  if (failures.length > 0) throw failures[0]
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

const frontmatters: [string, ...string[]] = [
  skillText,
  '---\nname: a\ndescription: >\n  folded\n  text\nallowed-tools: [x, "y"]\nmetadata: &m {a: 1, b: ~}\nmore: *m\n---\n',
  '---\n? [a]\n: b\n<<: {c: 1}\nd: !!str 1\ne: 0x1f\nf: .inf\ng: 2026-01-01\n---\n',
]
const inFrontmatter: Form = {
  read: (text) => parseYaml(text.split('---\n')[1] ?? ''),
  write: (value) => `---\n${toYaml(value)}---\n`,
}

/** What is taken is JSON. */
function front(input: Buffer): void {
  const value = parseFrontmatter(input.toString('utf8'))
  const written = JSON.stringify(value)
  mustHold(JSON.stringify(JSON.parse(written)) === written, 'frontmatter is no JSON')
}
