import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Part } from '../fixtures/part.ts'
import {
  closedPort,
  decided,
  joinMcpdo,
  joinMcpUse,
  noneHas,
  type Playing,
  playing,
  transportFor,
} from '../playing.ts'
import { standInModel } from '../stand-in-model.ts'
import type { Desk, Ran, Script, Tool, Verdict } from '../types.ts'
import { configure, type Entry, saying } from '../with.ts'

const big = 5_000_000
/** A line from the middle of so many. */
const middle = `line ${big / 200 + 2} `

const workshop: Part = {
  name: 'den',
  tools: [
    { name: 'look', does: { kind: 'say', text: 'A table and two chairs.' } },
    { name: 'break', does: { kind: 'fail', text: 'It is broken.' } },
    { name: 'wait', does: { kind: 'wait' } },
    { name: 'sweep', does: { kind: 'steps', count: 5, everyMs: 500 } },
    { name: 'print', does: { kind: 'lines', bytes: big } },
  ],
}

/** The words of a call without arguments at the server `den`. */
function callWords(tool: Tool, name: string, file: string): string[] {
  const words: Record<Tool, string[]> = {
    jackfield: ['call', 'den', name, '--config', file],
    inspector: ['--config', file, '--server', 'den', '--method', 'tools/call', '--tool-name', name],
    mcpdo: ['@den', 'tools/call', name, '{}'],
    mcporter: ['call', `den.${name}`, '--config', file],
    'mcp-use': ['client', 'den', 'tools', 'call', name, '{}'],
    wong2: ['--config', file, 'call-tool', `den:${name}`],
  }
  return words[tool]
}

/** A workshop that the tool is ready to call, and its configuration. */
async function ready(desk: Desk, tool: Tool, part = workshop): Promise<{ den: Playing; file: string }> {
  const den = await playing(desk, part, transportFor(tool))
  const file = await configure(desk, { den })
  if (tool === 'mcpdo') await joinMcpdo(desk, file, ['den'])
  if (tool === 'mcp-use') await joinMcpUse(desk, { den })
  return { den, file }
}

async function tellsFailuresApart(desk: Desk, tool: Tool): Promise<Verdict> {
  const { file } = await ready(desk, tool)
  const failing = desk.run(tool, callWords(tool, 'break', file))
  // mcpdo has one connection of that name at a time.
  if (tool === 'mcpdo') await failing
  const [failed, lost] = await Promise.all([failing, callOfNobody(desk, tool)])
  if (failed.timedOut || lost.timedOut) return { kind: 'no', note: 'it did not end' }
  if (failed.code === 0) return { kind: 'no', note: 'a failed tool ends with exit code 0' }
  if (lost.code === 0) return { kind: 'no', note: 'a server that cannot be reached ends with exit code 0' }
  return decided(failed.code !== lost.code, `both end with exit code ${failed.code}`)
}

/** A call at a server whose program ends at once; for mcp-use, at an address where nothing listens any more. */
async function callOfNobody(desk: Desk, tool: Tool): Promise<Ran> {
  const gone: Entry = { command: process.execPath, args: ['-e', 'process.exit(7)'] }
  if (tool === 'mcp-use') {
    const url = `http://127.0.0.1:${await closedPort()}/mcp`
    return desk.run(tool, ['client', 'connect', 'gone', url, '--no-oauth'])
  }
  const file = await desk.write('gone.json', JSON.stringify({ mcpServers: { den: gone } }))
  if (tool !== 'mcpdo') return desk.run(tool, callWords(tool, 'look', file))
  await desk.run(tool, ['disconnect', 'den'])
  return desk.run(tool, ['connect', 'den', '--config', file])
}

async function leavesNothing(desk: Desk, tool: Tool): Promise<Verdict> {
  const left = join(desk.cwd, 'left.pid')
  const den = await playing(desk, { ...workshop, stubborn: left })
  // The shell stays between, as it does with npx and its like.
  const quoted = [den.command, ...den.args].map((word) => `'${word}'`).join(' ')
  const wrapper = await desk.write('wrapper.sh', `${quoted}\nexit 0\n`)
  const file = await configure(desk, { den: { command: 'sh', args: [wrapper] } })
  if (tool === 'mcpdo') await joinMcpdo(desk, file, ['den'])
  const connect = ['client', 'connect', 'den', '--stdio', `sh ${wrapper}`]
  const words = tool === 'mcp-use' ? connect : callWords(tool, 'look', file)
  const ran = await desk.run(tool, words, { limitMs: 13_000 })
  const shown = tool === 'mcp-use' ? 'Connected' : 'two chairs'
  if (!ran.stdout.includes(shown)) return { kind: 'no', note: `it does not come back; ${saying(ran, 80)}` }
  if (ran.timedOut) return { kind: 'no', note: 'it came back and did not end within 13 s' }
  if (tool === 'mcpdo' || tool === 'jackfield') await desk.run(tool, ['daemon', 'stop'])
  const pids = [
    ...new Set([...den.started(), ...(existsSync(left) ? [Number(readFileSync(left, 'utf8'))] : [])]),
  ]
  if (pids.length === 0) throw new Error('nobody knows what was started')
  for (let waited = 0; pids.some(isAlive) && waited < 5000; waited += 100) await pause(100)
  const alive = pids.filter(isAlive)
  return decided(alive.length === 0, 'the server behind the shell still runs 5 s after the end')
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A process that ended and was not waited for is no running one.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function cancels(desk: Desk, tool: Tool): Promise<Verdict> {
  const { den, file } = await ready(desk, tool)
  const calling = desk.start(tool, callWords(tool, 'wait', file))
  const call = await arrives(den, (method) => method === 'tools/call', 12_000)
  if (call === undefined) return { kind: 'no', note: 'the call did not arrive' }
  calling.signal('SIGINT')
  const cancelled = await arrives(den, (method) => method === 'notifications/cancelled', 3000)
  if (cancelled === undefined) return { kind: 'no', note: 'the server was not told; the call just broke off' }
  return decided(cancelled.params?.['requestId'] === call.id, 'another request was cancelled')
}

async function arrives(server: Playing, is: (method: string | undefined) => boolean, withinMs: number) {
  for (let waited = 0; waited <= withinMs; waited += 100) {
    const found = (await server.seen()).find(({ method }) => is(method))
    if (found !== undefined) return found
    await pause(100)
  }
  return undefined
}

async function showsProgress(desk: Desk, tool: Tool): Promise<Verdict> {
  const { file } = await ready(desk, tool)
  const terminal = await desk.terminal(tool, callWords(tool, 'sweep', file))
  try {
    await terminal.until(/room [1-5] is swept|\b[1-4]\/5\b|\b[2468]0 ?%/, {
      withinMs: 13_000,
      anywhere: true,
    })
    return { kind: 'yes' }
  } catch {
    const shown = terminal.history().replace(/\s+/g, ' ').trim()
    const done = shown.includes('all rooms are swept')
      ? 'only the end is shown'
      : `it shows: ${shown.slice(0, 120)}`
    return { kind: 'no', note: done }
  }
}

async function bounds(desk: Desk): Promise<Verdict> {
  const den = await playing(desk, workshop)
  const mcpServers = { den: { command: den.command, args: den.args } }
  const jackfield = { rules: [{ id: 'all', verdict: 'allow' }] }
  const file = await desk.write('servers.json', JSON.stringify({ mcpServers, jackfield }))
  await using model = await standInModel(({ role, content }) => {
    if (role !== 'tool') return { call: 'den__print', arguments: {} }
    const id = /read_result, id \W*([\w-]+)/.exec(content)?.[1]
    if (id === undefined || content.includes(middle)) return { say: 'Done.' }
    return { call: 'read_result', arguments: { id, from: big / 2 } }
  })
  const ran = await desk.run('jackfield', ['chat', '--json', '--config', file], {
    input: 'Print it.\n/quit\n',
    env: model.env,
  })
  const given = model.given().filter(({ role }) => role === 'tool')
  const lengths = given.map(({ content }) => content.length)
  if (lengths.length === 0) throw new Error(`the model was not asked: ${saying(ran)}`)
  if (Math.max(...lengths) > 100_000) return { kind: 'no', note: `the model was given ${lengths} characters` }
  return decided(given.at(-1)?.content.includes(middle) ?? false, 'the model did not get the rest')
}

async function onlyJson(desk: Desk, tool: Tool): Promise<Verdict> {
  const { file } = await ready(desk, tool, { ...workshop, tells: 'PATH' })
  const json: Record<Tool, string[]> = {
    jackfield: ['--json'],
    inspector: ['--format', 'json'],
    mcpdo: ['--format', 'json'],
    mcporter: ['--output', 'json'],
    'mcp-use': ['--json'],
    wong2: [],
  }
  const ran = await desk.run(tool, [...callWords(tool, 'sweep', file), ...json[tool]])
  try {
    const value: unknown = JSON.parse(ran.stdout)
    return decided(
      JSON.stringify(value).includes('all rooms are swept'),
      `the result is not in it; ${saying(ran)}`,
    )
  } catch {
    return { kind: 'no', note: `stdout is no JSON document; ${saying(ran)}` }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** The same check for every tool. */
function all(check: (desk: Desk, tool: Tool) => Promise<Verdict>): Script['tools'] {
  return {
    jackfield: (desk) => check(desk, 'jackfield'),
    inspector: (desk) => check(desk, 'inspector'),
    mcpdo: (desk) => check(desk, 'mcpdo'),
    mcporter: (desk) => check(desk, 'mcporter'),
    'mcp-use': (desk) => check(desk, 'mcp-use'),
    wong2: (desk) => check(desk, 'wong2'),
  }
}

export const scripts: Script[] = [
  {
    id: 'exit-codes',
    capability: 'C13',
    title: 'Tell by the exit code whether the tool failed or the server could not be reached.',
    how: 'One call fails (`isError`), one goes to a server that ends at once (mcp-use: where nothing listens): both must end with a code that is not 0, and not with the same.',
    tools: all(tellsFailuresApart),
  },
  {
    id: 'nothing-left-running',
    capability: 'C13',
    title: 'Have nothing left running when the command is over.',
    how: 'The server stands behind a shell and ignores the end of its input, SIGTERM, SIGINT and SIGHUP: a call (for mcp-use, `client connect`) has to come back, and 5 s after the end of the command (for mcpdo and jackfield: of `daemon stop`) the server must be gone.',
    tools: all(leavesNothing),
  },
  {
    id: 'interrupt-cancels',
    capability: 'C13',
    title: 'Press Ctrl+C during a call, and have the server know.',
    how: 'The command gets SIGINT while a call waits: the server has to receive `notifications/cancelled` with the number of that request.',
    tools: all(cancels),
  },
  {
    id: 'progress-shown',
    capability: 'C13',
    title: 'See how far a long call is.',
    how: 'In a terminal, a call of 2.5 s tells of progress five times with a text: a text or how far it is has to be on the screen before the end.',
    tools: all(showsProgress),
  },
  {
    id: 'large-result',
    capability: 'C13',
    title: 'Give a model a piece of a result of 5 MB, and let it read the rest.',
    how: 'A model that calls the tool must be given less than 100,000 characters, and has to get a line from the middle by asking for more.',
    tools: { ...noneHas('no model is given results'), jackfield: bounds },
  },
  {
    id: 'json-alone',
    capability: 'C13',
    title: 'Read the result as JSON from stdout, whatever else happens.',
    how: 'The server writes to stderr and tells of progress; with the tool’s option for JSON, stdout must be one JSON document that holds the result.',
    tools: all(onlyJson),
  },
]
