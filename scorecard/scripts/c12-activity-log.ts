import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { absentIn, judge, onlyFor, summarize } from '../checks.ts'
import { commandOf } from '../clis.ts'
import { writeConfig } from '../commands.ts'
import { type ConfigurableServer, configurableServer } from '../configurable-server.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import type { ProcessResult, Script, Verdict, Workspace } from '../types.ts'

type Fields = Record<string, unknown>

const demoServer: ServerBehavior = {
  name: 'demo',
  tools: [
    { name: 'echo', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    { name: 'fail', behavior: { kind: 'error', text: 'The tool failed.' } },
  ],
}

interface Setup {
  server: ConfigurableServer
  file: string
  /** Calls a tool with Jackfield. */
  call(tool: string, ...args: string[]): Promise<ProcessResult>
  /** Runs Jackfield. */
  jackfield(...argv: string[]): Promise<ProcessResult>
}

async function setUp(workspace: Workspace, transport?: 'http'): Promise<Setup> {
  const server = await configurableServer(workspace, demoServer, transport)
  const file = await writeConfig(workspace, { demo: server })
  const jackfield = (...argv: string[]): Promise<ProcessResult> => workspace.run('jackfield', argv)
  return {
    server,
    file,
    jackfield,
    call: (tool, ...args) => jackfield('call', 'demo', tool, ...args, '--config', file),
  }
}

/** JSON with sorted members, for comparison. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isFields(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseLines(text: string): Fields[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): unknown => JSON.parse(line))
    .filter(isFields)
}

async function exportsMessages(workspace: Workspace): Promise<Verdict> {
  const { server, call, jackfield } = await setUp(workspace)
  await call('echo', 'a=one')
  const result = await jackfield('log', 'export', 'jsonl', 'kind:wire')
  const wire = parseLines(result.stdout)
  const sent = wire.filter(({ direction }) => direction === 'sent').map(({ payload }) => payload)
  return compareMessages(
    server,
    sent,
    wire.map(({ payload }) => payload),
    summarize(result),
  )
}

async function recordsMessages(workspace: Workspace): Promise<Verdict> {
  const { server, result } = await recordWithMcporter(workspace)
  const text = await readFile(join(workspace.home, '.mcporter/recordings/once.ndjson'), 'utf8')
  const wire = parseLines(text).filter(({ method }) => !String(method).startsWith('$'))
  // The recorder adds a `_meta` member to each message.
  const messages = wire.map(({ _meta, ...message }) => ({
    message,
    direction: isFields(_meta) ? _meta['dir'] : '',
  }))
  const sent = messages.filter(({ direction }) => direction === 'send').map(({ message }) => message)
  return compareMessages(
    server,
    sent,
    messages.map(({ message }) => message),
    summarize(result),
  )
}

async function compareMessages(
  server: ConfigurableServer,
  sent: unknown[],
  all: unknown[],
  output: string,
): Promise<Verdict> {
  const received = (await server.received()).map(({ raw }): unknown => JSON.parse(raw))
  if (received.length === 0 || canonical(sent) !== canonical(received)) {
    return {
      kind: 'no',
      note: `the server received ${received.length} messages, and the ${sent.length} stored ones differ; ${output}`,
    }
  }
  return judge([canonical(all).includes('\\"a\\":\\"one\\"'), `the response is missing; ${output}`])
}

async function recordWithMcporter(
  workspace: Workspace,
): Promise<{ server: ConfigurableServer; replayArgs: string[]; result: ProcessResult }> {
  const server = await configurableServer(workspace, demoServer)
  const file = await writeConfig(workspace, { demo: server })
  const callArgs = commandOf('mcporter', ['call', 'demo.echo', 'a=one', '--config', file])
  const result = await workspace.run('mcporter', ['record', 'once', '--config', file, '--', ...callArgs])
  return { server, result, replayArgs: ['replay', 'once', '--config', file, '--', ...callArgs] }
}

async function filtersLog(workspace: Workspace): Promise<Verdict> {
  const { call, jackfield } = await setUp(workspace)
  await Promise.all([call('echo', 'a=one'), call('fail')])
  const result = await jackfield('log', 'kind:call', 'status:error', '--json')
  const { events }: { events: { tool: string; status: string }[] } = JSON.parse(result.stdout)
  return judge([
    events.length === 1 && events[0]?.tool === 'fail',
    `${events.length} events; ${summarize(result)}`,
  ])
}

async function replaysOffline(workspace: Workspace): Promise<Verdict> {
  const { server, call, jackfield } = await setUp(workspace)
  await call('echo', 'a=one')
  const recorded = await jackfield('record', 'once.json', 'server:demo')
  if (recorded.code !== 0) return { kind: 'no', note: `no recording was written; ${summarize(recorded)}` }
  const startsBefore = server.processIds().length
  const serving = commandOf('jackfield', ['serve-recording', join(workspace.cwd, 'once.json')])
  const result = await jackfield('call', 'echo', 'a=one', '--', ...serving)
  return judgeReplay(server, startsBefore, result)
}

async function replaysMcporter(workspace: Workspace): Promise<Verdict> {
  const { server, replayArgs } = await recordWithMcporter(workspace)
  const startsBefore = server.processIds().length
  return judgeReplay(server, startsBefore, await workspace.run('mcporter', replayArgs))
}

function judgeReplay(server: ConfigurableServer, startsBefore: number, result: ProcessResult): Verdict {
  if (server.processIds().length !== startsBefore) return { kind: 'no', note: 'the server was started' }
  return judge([
    result.code === 0 && result.stdout.includes('one'),
    `the result is not printed; ${summarize(result)}`,
  ])
}

async function replaysEdited(workspace: Workspace): Promise<Verdict> {
  const { server, file, call, jackfield } = await setUp(workspace)
  await call('echo', 'a=one')
  const listing = await jackfield('log', 'kind:call', '--json')
  const { events }: { events: { id: number }[] } = JSON.parse(listing.stdout)
  const result = await jackfield('replay', String(events[0]?.id), 'a=two', '--config', file)
  const calls = (await server.received()).filter(({ method }) => method === 'tools/call')
  const last = canonical(calls.at(-1)?.params?.['arguments'])
  if (calls.length !== 2 || last !== '{"a":"two"}') {
    return { kind: 'no', note: `the server did not receive the edited call; ${summarize(result)}` }
  }
  return judge([
    /one/.test(result.stdout) && /two/.test(result.stdout),
    `the results are not compared; ${summarize(result)}`,
  ])
}

async function exportsHar(workspace: Workspace): Promise<Verdict> {
  const { server, call, jackfield } = await setUp(workspace, 'http')
  await call('echo', 'a=one')
  const result = await jackfield('log', 'export', 'har')
  const { log }: { log: { version: string; entries: HarEntry[] } } = JSON.parse(result.stdout)
  const entry = log.entries.find(({ request }) => request.postData?.text.includes('"tools/call"'))
  const isComplete =
    log.version === '1.2' &&
    entry?.request.method === 'POST' &&
    entry.request.url === server.url &&
    entry.response.status === 200 &&
    entry.time >= 0
  return judge([isComplete, `the call is not in the file, or not as HAR 1.2; ${summarize(result)}`])
}

interface HarEntry {
  time: number
  request: { method: string; url: string; postData?: { text: string } }
  response: { status: number }
}

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
}

async function exportsTraces(workspace: Workspace): Promise<Verdict> {
  const { call, jackfield } = await setUp(workspace)
  await call('echo', 'a=one')
  const result = await jackfield('log', 'export', 'otlp')
  const { resourceSpans }: { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] } = JSON.parse(
    result.stdout,
  )
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  const isValid = ({ traceId, spanId, startTimeUnixNano, endTimeUnixNano }: Span): boolean =>
    /^[0-9a-f]{32}$/.test(traceId) &&
    /^[0-9a-f]{16}$/.test(spanId) &&
    BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano)
  if (!spans.every(isValid)) return { kind: 'no', note: 'a span has invalid ids or times' }
  const requestSpan = spans.find(
    ({ name, parentSpanId }) => name.startsWith('tools/call') && parentSpanId !== undefined,
  )
  const callSpan = spans.find(
    ({ spanId, traceId }) => spanId === requestSpan?.parentSpanId && traceId === requestSpan.traceId,
  )
  return judge([
    callSpan !== undefined,
    `the span of the request has no parent: ${spans.map(({ name }) => name)}`,
  ])
}

async function detectsTampering(workspace: Workspace): Promise<Verdict> {
  const { call, jackfield } = await setUp(workspace)
  await Promise.all([call('echo', 'a=one'), call('fail')])
  const firstResult = await jackfield('activity', 'verify')
  if (firstResult.code !== 0)
    return { kind: 'no', note: `an unchanged log fails the verification; ${summarize(firstResult)}` }
  const folder = join(workspace.home, '.local/share/jackfield')
  const file = readdirSync(folder).find((name) => name.endsWith('.db')) ?? ''
  const database = new DatabaseSync(join(folder, file))
  database.exec(
    "DROP TRIGGER IF EXISTS activity_kept; UPDATE activity SET detail = replace(detail, 'one', 'two')",
  )
  database.close()
  const secondResult = await jackfield('activity', 'verify')
  return judge([
    secondResult.code === 1 && /\brow \d+\b/i.test(secondResult.stdout + secondResult.stderr),
    summarize(secondResult),
  ])
}

const noLog = 'stores no messages and calls'

export const scripts: Script[] = [
  {
    id: 'messages-in-order',
    capability: 'C12',
    title: 'See all messages of a connection in order',
    how: 'The stored messages of one call must equal those that the server received, in every member and in order, and include the response.',
    checks: onlyFor({ jackfield: exportsMessages, mcporter: recordsMessages }, noLog),
  },
  {
    id: 'filtered-log',
    capability: 'C12',
    title: 'Filter the log for failed calls',
    how: 'One of two calls fails. The filter must return only that one.',
    checks: onlyFor(
      {
        jackfield: filtersLog,
        mcporter: absentIn('mcporter', '`record` writes a file, no command searches it'),
      },
      noLog,
    ),
  },
  {
    id: 'replay-without-server',
    capability: 'C12',
    title: 'Replay a recorded server while it is not running',
    how: 'One call is recorded and repeated from the recording. The result must be the same, and no process of the server may be started.',
    checks: onlyFor({ jackfield: replaysOffline, mcporter: replaysMcporter }, 'no recording'),
  },
  {
    id: 'replay-with-edits',
    capability: 'C12',
    title: 'Repeat a past call with other arguments and compare the results',
    how: 'The server must receive the second call with the edited argument, and the output must contain both results.',
    checks: onlyFor(
      {
        jackfield: replaysEdited,
        mcporter: absentIn('mcporter', '`replay` returns recorded responses, for the same arguments'),
      },
      noLog,
    ),
  },
  {
    id: 'export-har',
    capability: 'C12',
    title: 'Export HTTP messages as a HAR file for browsers',
    how: 'The file must be HAR 1.2 and contain the call with the URL of the server, its body and the status.',
    checks: onlyFor({ jackfield: exportsHar }, 'no export'),
  },
  {
    id: 'export-otlp',
    capability: 'C12',
    title: 'Export calls as OpenTelemetry traces',
    how: 'The document must be OTLP with valid ids and times, and the span of the request must be a child of the span of its call.',
    checks: onlyFor({ jackfield: exportsTraces }, 'no export'),
  },
  {
    id: 'altered-log',
    capability: 'C12',
    title: 'Detect changes of the stored log',
    how: 'One word of a stored call is changed in the database. The verification must pass before the change, and fail after it with the row.',
    checks: onlyFor({ jackfield: detectsTampering }, 'no log of calls'),
  },
]
