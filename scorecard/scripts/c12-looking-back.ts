import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Part } from '../fixtures/part.ts'
import { decided, noneHas, type Playing, playing, without } from '../playing.ts'
import { commandOf } from '../tools.ts'
import type { Desk, Ran, Script, Verdict } from '../types.ts'
import { configure, saying } from '../with.ts'

type Fields = Record<string, unknown>

const den: Part = {
  name: 'den',
  tools: [
    { name: 'echo', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    { name: 'break', does: { kind: 'fail', text: 'It is broken.' } },
  ],
}

interface Room {
  server: Playing
  file: string
  /** Calls a tool with Jackfield. */
  call(tool: string, ...args: string[]): Promise<Ran>
  jackfield(...words: string[]): Promise<Ran>
}

async function room(desk: Desk, transport?: 'http'): Promise<Room> {
  const server = await playing(desk, den, transport)
  const file = await configure(desk, { den: server })
  const jackfield = (...words: string[]): Promise<Ran> => desk.run('jackfield', words)
  return {
    server,
    file,
    jackfield,
    call: (tool, ...args) => jackfield('call', 'den', tool, ...args, '--config', file),
  }
}

/** The same values in the same places, whatever the order of members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isFields(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function lines(text: string): Fields[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): unknown => JSON.parse(line))
    .filter(isFields)
}

async function seesMessages(desk: Desk): Promise<Verdict> {
  const { server, call, jackfield } = await room(desk)
  await call('echo', 'a=one')
  const ran = await jackfield('log', 'export', 'jsonl', 'kind:wire')
  const wire = lines(ran.stdout)
  const sent = wire.filter(({ direction }) => direction === 'sent').map(({ payload }) => payload)
  return compared(
    server,
    sent,
    wire.map(({ payload }) => payload),
    saying(ran),
  )
}

async function recordsMessages(desk: Desk): Promise<Verdict> {
  const { server, ran } = await recordedByMcporter(desk)
  const text = await readFile(join(desk.home, '.mcporter/recordings/once.ndjson'), 'utf8')
  const wire = lines(text).filter(({ method }) => !String(method).startsWith('$'))
  // The recorder adds a `_meta` of its own beside the members of the message.
  const bare = wire.map(({ _meta, ...message }) => ({
    message,
    direction: isFields(_meta) ? _meta['dir'] : '',
  }))
  const sent = bare.filter(({ direction }) => direction === 'send').map(({ message }) => message)
  return compared(
    server,
    sent,
    bare.map(({ message }) => message),
    saying(ran),
  )
}

async function compared(server: Playing, sent: unknown[], all: unknown[], said: string): Promise<Verdict> {
  const seen = (await server.seen()).map(({ raw }): unknown => JSON.parse(raw))
  if (seen.length === 0 || canonical(sent) !== canonical(seen)) {
    return {
      kind: 'no',
      note: `${seen.length} messages arrived, ${sent.length} are told of otherwise; ${said}`,
    }
  }
  return decided(canonical(all).includes('\\"a\\":\\"one\\"'), `the answer is missing; ${said}`)
}

async function recordedByMcporter(desk: Desk): Promise<{ server: Playing; again: string[]; ran: Ran }> {
  const server = await playing(desk, den)
  const file = await configure(desk, { den: server })
  const again = commandOf('mcporter', ['call', 'den.echo', 'a=one', '--config', file])
  const ran = await desk.run('mcporter', ['record', 'once', '--config', file, '--', ...again])
  return { server, ran, again: ['replay', 'once', '--config', file, '--', ...again] }
}

async function filters(desk: Desk): Promise<Verdict> {
  const { call, jackfield } = await room(desk)
  await Promise.all([call('echo', 'a=one'), call('break')])
  const ran = await jackfield('log', 'kind:call', 'status:error', '--json')
  const { events }: { events: { tool: string; status: string }[] } = JSON.parse(ran.stdout)
  return decided(
    events.length === 1 && events[0]?.tool === 'break',
    `${events.length} events; ${saying(ran)}`,
  )
}

async function replaysOffline(desk: Desk): Promise<Verdict> {
  const { server, call, jackfield } = await room(desk)
  await call('echo', 'a=one')
  const recorded = await jackfield('record', 'once.json', 'server:den')
  if (recorded.code !== 0) return { kind: 'no', note: `nothing is recorded; ${saying(recorded)}` }
  const before = server.started().length
  const serving = commandOf('jackfield', ['serve-recording', join(desk.cwd, 'once.json')])
  const ran = await jackfield('call', 'echo', 'a=one', '--', ...serving)
  return again(server, before, ran)
}

async function replaysMcporter(desk: Desk): Promise<Verdict> {
  const { server, again: words } = await recordedByMcporter(desk)
  const before = server.started().length
  return again(server, before, await desk.run('mcporter', words))
}

function again(server: Playing, before: number, ran: Ran): Verdict {
  if (server.started().length !== before) return { kind: 'no', note: 'the server was started' }
  return decided(ran.code === 0 && ran.stdout.includes('one'), `the answer is not given; ${saying(ran)}`)
}

async function replaysEdited(desk: Desk): Promise<Verdict> {
  const { server, file, call, jackfield } = await room(desk)
  await call('echo', 'a=one')
  const found = await jackfield('log', 'kind:call', '--json')
  const { events }: { events: { id: number }[] } = JSON.parse(found.stdout)
  const ran = await jackfield('replay', String(events[0]?.id), 'a=two', '--config', file)
  const calls = (await server.seen()).filter(({ method }) => method === 'tools/call')
  const last = canonical(calls.at(-1)?.params?.['arguments'])
  if (calls.length !== 2 || last !== '{"a":"two"}') {
    return { kind: 'no', note: `the edited request did not arrive; ${saying(ran)}` }
  }
  return decided(
    /one/.test(ran.stdout) && /two/.test(ran.stdout),
    `the difference is not shown; ${saying(ran)}`,
  )
}

async function exportsHar(desk: Desk): Promise<Verdict> {
  const { server, call, jackfield } = await room(desk, 'http')
  await call('echo', 'a=one')
  const ran = await jackfield('log', 'export', 'har')
  const { log }: { log: { version: string; entries: HarEntry[] } } = JSON.parse(ran.stdout)
  const entry = log.entries.find(({ request }) => request.postData?.text.includes('"tools/call"'))
  const isWhole =
    log.version === '1.2' &&
    entry?.request.method === 'POST' &&
    entry.request.url === server.url &&
    entry.response.status === 200 &&
    entry.time >= 0
  return decided(isWhole, `the call is not in the archive as HAR 1.2 wants it; ${saying(ran)}`)
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

async function exportsTraces(desk: Desk): Promise<Verdict> {
  const { call, jackfield } = await room(desk)
  await call('echo', 'a=one')
  const ran = await jackfield('log', 'export', 'otlp')
  const { resourceSpans }: { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] } = JSON.parse(ran.stdout)
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  const isWell = ({ traceId, spanId, startTimeUnixNano, endTimeUnixNano }: Span): boolean =>
    /^[0-9a-f]{32}$/.test(traceId) &&
    /^[0-9a-f]{16}$/.test(spanId) &&
    BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano)
  if (!spans.every(isWell)) return { kind: 'no', note: 'a span has no proper ids or times' }
  const inner = spans.find(
    ({ name, parentSpanId }) => name.startsWith('tools/call') && parentSpanId !== undefined,
  )
  const outer = spans.find(
    ({ spanId, traceId }) => spanId === inner?.parentSpanId && traceId === inner.traceId,
  )
  return decided(
    outer !== undefined,
    `no span of the call stands under another: ${spans.map(({ name }) => name)}`,
  )
}

async function noticesAlteration(desk: Desk): Promise<Verdict> {
  const { call, jackfield } = await room(desk)
  await Promise.all([call('echo', 'a=one'), call('break')])
  const before = await jackfield('activity', 'verify')
  if (before.code !== 0) return { kind: 'no', note: `an untouched log does not pass; ${saying(before)}` }
  const folder = join(desk.home, '.local/share/jackfield')
  const file = readdirSync(folder).find((name) => name.endsWith('.db')) ?? ''
  const database = new DatabaseSync(join(folder, file))
  database.exec(
    "DROP TRIGGER IF EXISTS activity_kept; UPDATE activity SET detail = replace(detail, 'one', 'two')",
  )
  database.close()
  const after = await jackfield('activity', 'verify')
  return decided(after.code === 1 && /\brow \d+\b/i.test(after.stdout + after.stderr), saying(after))
}

const keepsNothing = 'nothing is kept of past messages and calls'

export const scripts: Script[] = [
  {
    id: 'messages-in-order',
    capability: 'C12',
    title: 'See every message that went over the wire, in order.',
    how: 'What the tool kept of one call must be exactly the messages the server received, member for member and in that order, and the answer beside them.',
    tools: { ...noneHas(keepsNothing), jackfield: seesMessages, mcporter: recordsMessages },
  },
  {
    id: 'filtered-log',
    capability: 'C12',
    title: 'Find the one call that failed among others.',
    how: 'Of two calls one fails; a filter has to leave that one alone.',
    tools: {
      ...noneHas(keepsNothing),
      mcporter: without('mcporter', '`record` writes a file, nothing looks into it'),
      jackfield: filters,
    },
  },
  {
    id: 'replay-without-server',
    capability: 'C12',
    title: 'Record a server and have its answers again while it is off.',
    how: 'One call is recorded and made again from the recording: the answer must be the same, and no process of the server may be started.',
    tools: { ...noneHas('no recording'), jackfield: replaysOffline, mcporter: replaysMcporter },
  },
  {
    id: 'replay-with-edits',
    capability: 'C12',
    title: 'Send a past request again with other arguments and see what is different.',
    how: 'The second request has to reach the server with the edited argument, and both results have to be shown.',
    tools: {
      ...noneHas(keepsNothing),
      mcporter: without('mcporter', '`replay` gives recorded answers, with the same arguments'),
      jackfield: replaysEdited,
    },
  },
  {
    id: 'export-har',
    capability: 'C12',
    title: 'Export what went over HTTP as an archive that browsers open.',
    how: 'The file must be HAR 1.2 and hold the call with the server’s address, its body and the status.',
    tools: { ...noneHas('no export'), jackfield: exportsHar },
  },
  {
    id: 'export-otlp',
    capability: 'C12',
    title: 'Export calls as traces of OpenTelemetry.',
    how: 'The document must be OTLP with proper ids and times, and the request must stand under the call it belongs to.',
    tools: { ...noneHas('no export'), jackfield: exportsTraces },
  },
  {
    id: 'altered-log',
    capability: 'C12',
    title: 'Notice that somebody changed the log afterwards.',
    how: 'One word of a kept call is changed in the file: the check passed before and has to fail now, with the place.',
    tools: { ...noneHas('no log of calls'), jackfield: noticesAlteration },
  },
]
