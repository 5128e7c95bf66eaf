import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHostClient, type HostClient, type InboxRow, streamChannel } from '@jackfield/host/client'
import { describe, expect } from 'vitest'
import { builtProgram, startOptions } from '../../setup/built-program.ts'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const program = builtProgram('jackfield')
const killServer = programFile(new URL('kill-server.ts', import.meta.url))
/** The longest time that a host process works before a kill that waits for nothing, in milliseconds. */
const longestMs = 400
/** The longest time between an acknowledgement and a kill that waits for one. */
const soonMs = 25
const patienceMs = 60_000
/** Host processes at once, each with a store of its own: most of the time passes while servers end. */
const maxLanes = 8

/** What a host acknowledged before it was killed. */
interface Acknowledged {
  /** Activity rows of calls that were answered. */
  readonly calls: number[]
  readonly answers: { id: string; word: string }[]
  /** Acknowledged messages, by conversation. */
  readonly said: { conversation: string; text: string }[]
}

interface Home {
  readonly folder: string
  start(): Promise<{ child: ChildProcess; client: HostClient; servers: number[] }>
}

/** A folder with one configured server and the store that all host processes of a campaign share. */
function home(): Home {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-daemon-'))
  const server = { command: process.execPath, args: [killServer] }
  const rules = [{ id: 'all', verdict: 'allow' }]
  const models = ['offline']
  writeFileSync(
    join(folder, 'jackfield.json'),
    JSON.stringify({ mcpServers: { s: server }, jackfield: { rules, models } }),
  )
  const data = join(folder, 'data')
  const hosts = join(data, 'jackfield', 'hosts')
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder, XDG_DATA_HOME: data, XDG_CONFIG_HOME: folder }
  return {
    folder,
    async start() {
      const args = [...startOptions, program, 'daemon', 'serve', '--start-what-this-folder-names']
      const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
        })
      const record = await until(() => {
        if (child.exitCode !== null) throw new Error(`The host process ended: ${output}`)
        return recordOf(hosts, child.pid)
      }, 'the record of the host process')
      const client = createHostClient({
        name: 'test',
        async connect() {
          const socket = connectSocket(record.socket)
          await once(socket, 'connect')
          const channel = streamChannel(socket)
          channel.send(record.token)
          return channel
        },
      })
      await client.ready()
      await client.call('surface.attach', { name: 'test', kinds: ['elicitation'] })
      await client.call('servers.start', {})
      return { child, client, servers: childrenOf(child.pid) }
    },
  }
}

/**
 * Half of the moments are some milliseconds after the start; the others soon after a call, an answer or a turn was acknowledged,
 * however long that takes on a busy machine.
 */
async function randomMoment(random: Random, trial: number, acknowledged: Acknowledged): Promise<void> {
  const { calls, answers, said } = acknowledged
  const kind = [calls, answers, said][Math.abs(trial) % 3] ?? calls
  const isSoon = random.between(0, 1) === 1
  const count = random.between(1, 3)
  if (!isSoon) await until(() => (kind.length >= count ? true : undefined), 'something acknowledged')
  await new Promise((resolve) => setTimeout(resolve, random.between(0, isSoon ? longestMs : soonMs)))
}

function recordOf(folder: string, pid: number | undefined): { socket: string; token: string } | undefined {
  const files = existsSync(folder) ? readdirSync(folder) : []
  for (const file of files.filter((name) => name.endsWith('.json'))) {
    const record: { pid: number; token: string } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const socket = join(folder, file.replace(/json$/, 'sock'))
    if (record.pid === pid && existsSync(socket)) return { socket, token: record.token }
  }
  return undefined
}

async function until<T>(find: () => T | undefined, what: string): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const found = find()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`Not within ${patienceMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number)
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Uses a host until it is killed; what it acknowledged is noted. */
function use(client: HostClient, name: string, acknowledged: Acknowledged): { over: Promise<unknown> } {
  const words = new Map<string, string>()
  let count = 0
  const text = (): string => `${name}-${count++}`
  const calls = async (): Promise<void> => {
    for (;;) {
      const request = { kind: 'call' as const, tool: 's__echo', arguments: { text: text() } }
      const id = await client.call('runs.start', { request })
      const { result } = await client.call('runs.wait', { id })
      if (result?.call !== undefined) acknowledged.calls.push(result.call.activity)
    }
  }
  const questions = async (): Promise<void> => {
    for (;;) {
      const request = { kind: 'call' as const, tool: 's__ask', arguments: { text: text() } }
      const id = await client.call('runs.start', { request })
      await client.call('runs.wait', { id })
    }
  }
  const answer = async ({ id, digest }: InboxRow, word: string): Promise<void> => {
    await client.call('inbox.answer', { id, answer: { action: 'accept', content: { word } }, seen: digest })
    acknowledged.answers.push({ id, word })
  }
  client.subscribe('inbox', {
    rows(view) {
      for (const row of view.values()) {
        if (row.state !== 'open' || words.has(row.id)) continue
        const word = text()
        words.set(row.id, word)
        // A question that the host process before left open cannot be answered by everyone.
        answer(row, word).catch(() => {})
      }
    },
  })
  const converse = async (): Promise<void> => {
    const conversation = await client.call('conversations.open', {})
    for (;;) {
      const said = { text: text() }
      const turn = await client.call('conversations.say', { id: conversation, input: said })
      if (turn !== null) acknowledged.said.push({ conversation, text: said.text })
    }
  }
  return { over: Promise.allSettled([calls(), questions(), converse()]) }
}

/** Whether the store has everything that was acknowledged. */
async function check(client: HostClient, { calls, answers, said }: Acknowledged): Promise<void> {
  for (const id of calls) {
    const [row] = await client.call('activity.list', { id })
    expect(row, `activity ${id}`).toMatchObject({ kind: 'call', outcome: 'ok' })
  }
  for (const { id, word } of answers) {
    const row = await client.call('inbox.get', { id })
    expect(row?.answer?.value, `question ${id}`).toMatchObject({ content: { word } })
  }
  for (const { conversation, text } of said) {
    const entries = await client.call('conversations.entries', { id: conversation })
    const messages = entries.flatMap((entry) => (entry.kind === 'message' ? [entry] : []))
    const at = messages.findIndex((entry) => JSON.stringify(entry.message.content).includes(text))
    expect(at, `"${text}" in conversation ${conversation}`).toBeGreaterThanOrEqual(0)
    expect(messages[at + 1]?.by, `the reply to "${text}"`).toBe('model')
  }
}

// The children of a process are read from /proc.
describe.runIf(process.platform === 'linux')('the host process', () => {
  campaign(
    {
      id: 'daemon-kills',
      chapter: 'State',
      claim:
        'A killed host process loses no acknowledged answer, activity or conversation entry, and leaves no server running',
      trial: 'SIGKILL at a random moment while calls, questions and conversations run',
      trials: { test: 4, change: 150, long: 1_000 },
      changeMinutes: 15,
      longMinutes: 90,
    },
    async ({ trials, seed, measured }) => {
      const random = new Random(seed)
      const totals = { calls: 0, answers: 0, said: 0 }
      let left = trials
      const lane = async (): Promise<void> => {
        const { folder, start } = home()
        let before: Acknowledged = { calls: [], answers: [], said: [] }
        try {
          for (let isLast = false; !isLast; ) {
            isLast = left-- <= 0
            const { child, client, servers } = await start()
            const exited = once(child, 'exit')
            await check(client, before)
            expect(await client.call('activity.verify', {})).toMatchObject({ faults: [] })
            before = { calls: [], answers: [], said: [] }
            const { over } = use(client, `${left}`, before)
            if (!isLast) await randomMoment(random, left, before)
            child.kill('SIGKILL')
            await exited
            client.close()
            await over
            expect(servers.length).toBeGreaterThan(0)
            await until(() => (servers.some(runs) ? undefined : true), 'the end of the servers')
            totals.calls += before.calls.length
            totals.answers += before.answers.length
            totals.said += before.said.length
          }
        } finally {
          rmSync(folder, { recursive: true, force: true })
        }
      }
      await Promise.all(Array.from({ length: Math.min(maxLanes, Math.ceil(trials / 2)) }, lane))
      const acknowledged = [totals.calls, totals.answers, totals.said]
      // A few kills may each come before one of the three.
      const counted = trials < 40 ? Math.max(...acknowledged) : Math.min(...acknowledged)
      expect(counted).toBeGreaterThan(0)
      measured('acknowledged calls', totals.calls, '')
      measured('acknowledged answers', totals.answers, '')
      measured('acknowledged turns of conversations', totals.said, '')
    },
  )
})
