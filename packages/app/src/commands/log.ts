import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Host,
  parseRecording,
  type Recording,
  recordingChanges,
  type TraceEvent,
  TraceFilterError,
  type TraceFormat,
  type TraceQuery,
} from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { McpError } from '@jackfield/sdk'
import { type CliError, ExitCode, isRejection, usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import { createLocalHost } from '../cli/host.ts'
import type { Io, Output } from '../cli/io.ts'
import { writePrivateChunks, writePrivateFile } from '../cli/private-file.ts'
import { storeFile } from '../cli/store.ts'
import { storeHost, storeService } from '../daemon/service.ts'
import { changeLines } from '../output/changes.ts'
import { exactText } from '../output/exact.ts'
import { fixesIn } from '../output/fixes.ts'
import {
  eventCount,
  eventLine,
  eventPairs,
  eventStatistics,
  eventTable,
  eventTimeline,
  eventTree,
  wholeEvent,
} from '../output/log.ts'
import { count, oneLine } from '../output/sanitize.ts'

export interface LogOptions {
  tree?: boolean
  raw?: boolean
  timeline?: boolean
  stats?: boolean
  follow?: boolean
  limit?: number
  store?: string
  json?: boolean
}

const pollMs = 250
const initialLines = 20

/** `jackfield log [filter…]` and `jackfield log <id>`. */
export async function log(
  words: readonly string[],
  options: LogOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const store = storeFile(options.store, io)
  if (options.follow !== true || namesOneEvent(words)) {
    await using open = await createLocalHost(storeService(store), 'jackfield log')
    await showLog(open.client, words, options, output)
    return ExitCode.done
  }
  await using host = storeHost(store)
  return await withFilterErrors(() => follow(host, queryOf(words, options), io, output))
}

/** Shows one event, or the events that match a filter; used by the command and by conversations. */
export async function showLog(
  client: HostClient,
  words: readonly string[],
  options: Omit<LogOptions, 'follow' | 'store' | 'json'>,
  output: Output,
): Promise<void> {
  const [only = ''] = words
  await withFilterErrors(() =>
    namesOneEvent(words)
      ? showEvent(client, only, output)
      : showEvents(client, queryOf(words, options), options, output),
  )
}

function namesOneEvent(words: readonly string[]): boolean {
  const [only, ...others] = words
  return only !== undefined && others.length === 0 && /^#?\d+$/.test(only)
}

function queryOf(words: readonly string[], options: LogOptions): TraceQuery {
  const views = [options.tree, options.raw, options.timeline, options.stats, options.follow].filter(Boolean)
  if (views.length > 1) throw usageError('Give one of --tree, --raw, --timeline, --stats and --follow.')
  const limit = options.limit ?? (options.raw === true ? 20 : options.stats === true ? undefined : 200)
  return { filter: joinFilter(words), ...(limit !== undefined && { limit }) }
}

async function showEvents(
  client: HostClient,
  query: TraceQuery,
  options: LogOptions,
  output: Output,
): Promise<void> {
  const { value, text } = await viewOf(client, query, options, output)
  output.result(value, () => text ?? emptyLogMessage(query))
}

/** The requested data, and its text if there is any. */
async function viewOf(
  client: HostClient,
  query: TraceQuery,
  options: LogOptions,
  output: Output,
): Promise<{ value: unknown; text: string | undefined }> {
  const text = (rows: number, textOf: () => string): string | undefined =>
    rows === 0 || output.json ? undefined : textOf()
  if (options.stats === true) {
    const value = await client.call('trace.statistics', query)
    return {
      value,
      text: text(value.methods.length + value.models.length, () => eventStatistics(value, output)),
    }
  }
  if (options.raw === true) {
    const value = await client.call('trace.pairs', query)
    return { value, text: text(value.length, () => eventPairs(value, output)) }
  }
  if (options.tree === true) {
    const value = await client.call('trace.tree', query)
    return { value, text: text(value.length, () => eventTree(value, output)) }
  }
  if (options.timeline === true) {
    const value = await client.call('trace.timeline', query)
    return { value, text: text(value.length, () => eventTimeline(value, output)) }
  }
  const events = await client.call('trace.list', query)
  const counters = await client.call('trace.counters', {})
  const footer = eventCount(events.length, { limited: events.length === query.limit, counters })
  return {
    value: { events, counters },
    text: text(events.length, () => `${eventTable(events, output)}\n${output.palette.dim(footer)}`),
  }
}

function emptyLogMessage({ filter = '' }: TraceQuery): string {
  return filter === ''
    ? 'The log is empty. Call something first, for example: jackfield call echo message=hi -- npx -y @modelcontextprotocol/server-everything'
    : `Nothing in the log matches ${oneLine(filter)}. Remove conditions to see more.`
}

/** One event by its number, or by `#` and the number of its activity row. */
async function showEvent(client: HostClient, word: string, output: Output): Promise<void> {
  const number = Number(word.replace('#', ''))
  const [first] = word.startsWith('#') ? await client.call('trace.list', { filter: `row:${number}` }) : []
  const id = word.startsWith('#') ? first?.id : number
  const event = id === undefined ? null : await client.call('trace.get', { id })
  if (event === null) throw usageError(`There is no ${word} in the log. jackfield log lists all events.`)
  output.result(event, () => wholeEvent(event, output))
}

async function follow(host: Host, query: TraceQuery, io: Io, output: Output): Promise<ExitCode> {
  const show = (events: readonly TraceEvent[]): void => {
    for (const event of events) output.row(event, eventLine(event, output))
  }
  let last = (await host.trace.list({ limit: 1 })).at(-1)?.id ?? 0
  const newest = await host.trace.list({
    ...query,
    limit: Math.min(query.limit ?? initialLines, initialLines),
  })
  show(newest.filter(({ id }) => id <= last))
  while (!io.signal.aborted) {
    await pause(pollMs, undefined, { signal: io.signal }).catch(() => {})
    const news = await host.trace.list({ ...query, after: last })
    show(news)
    last = news.at(-1)?.id ?? last
  }
  return ExitCode.done
}

export interface ExportOptions {
  output?: string
  store?: string
}

const formats: readonly TraceFormat[] = ['jsonl', 'har', 'otlp']

/** `jackfield log export <format> [filter…]` */
export async function exportLog(
  format: string | undefined,
  words: readonly string[],
  options: ExportOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (format === undefined)
    throw usageError(`Which format? Usage: jackfield log export <${formats.join('|')}> [filter...]`)
  const wanted = formats.find((known) => known === format)
  if (wanted === undefined)
    throw usageError(`"${format}" is not a format. Formats are ${formats.join(', ')}.`)
  await using host = storeHost(storeFile(options.store, io))
  return await withFilterErrors(async () => {
    const pieces = host.trace.export(wanted, { filter: joinFilter(words) })
    if (options.output === undefined)
      for await (const piece of pieces) {
        if (!io.stdout.write(exactText(piece))) await once(io.stdout, 'drain', { signal: io.signal })
      }
    else {
      const file = resolve(io.cwd, options.output)
      await writePrivateChunks(file, pieces)
      output.note(`Written to ${file}`)
    }
    return ExitCode.done
  })
}

export interface RecordOptions {
  store?: string
  json?: boolean
}

/** `jackfield record <file> [filter…]`: writes server responses to a file, for replay. */
export async function record(
  file: string | undefined,
  words: readonly string[],
  options: RecordOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (file === undefined) throw usageError('Which file? Usage: jackfield record <file> [filter...]')
  await using host = storeHost(storeFile(options.store, io))
  return await withFilterErrors(async () => {
    const recording = await host.trace.recording({ filter: joinFilter(words) })
    const path = resolve(io.cwd, file)
    writePrivateFile(path, `${JSON.stringify(recording, null, 1)}\n`)
    const servers = Object.entries(recording.servers).map(([server, { revision, exchanges }]) => ({
      server,
      revision,
      exchanges: exchanges.length,
    }))
    output.result({ file: path, servers }, () =>
      [
        ...servers.map(
          ({ server, revision, exchanges }) =>
            `${oneLine(server)}: ${count(exchanges, 'request')}${revision === null ? '' : `, ${oneLine(revision)}`}`,
        ),
        `Written to ${path}. Serve it with: jackfield serve-recording ${file}`,
      ].join('\n'),
    )
    return ExitCode.done
  })
}

/** `jackfield log diff <a> <b>`: differences of two recordings. Exit code 1 if they differ. */
export async function diff(
  a: string | undefined,
  b: string | undefined,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (a === undefined || b === undefined)
    throw usageError('Which recordings? Usage: jackfield log diff <a> <b>')
  const changes = recordingChanges(readRecording(a, io), readRecording(b, io))
  output.result(changes, () => {
    if (changes.length === 0)
      return output.palette.green('✓ Both have the same requests with the same results.')
    const blocks = changes.map(({ server, method, params, only, changes: places }) => {
      const { _meta: _, ...given } = params
      const head = `${output.palette.bold(oneLine(`${server}: ${method}`))} ${oneLine(JSON.stringify(given), 100)}`
      if (only === undefined) return [head, ...changeLines(places, output)].join('\n')
      return `${head}\n  only in ${only === 'first' ? a : b}`
    })
    return [...blocks, output.palette.dim(count(changes.length, 'difference'))].join('\n')
  })
  return changes.length === 0 ? ExitCode.done : ExitCode.toolError
}

/** Reads a recording, or explains what is wrong with the file. */
export function readRecording(file: string, io: Pick<Io, 'cwd'>): Recording {
  const path = resolve(io.cwd, file)
  if (!existsSync(path)) throw usageError(`There is no file ${path}.`)
  try {
    return parseRecording(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof McpError) throw usageError(`${path}: ${error.message}.`, fixesIn(error))
    throw usageError(`${path} cannot be read: ${readErrorReason(error)}.`)
  }
}

/** Joins the words to one filter, with the quotes that the shell removed. */
export function joinFilter(words: readonly string[]): string {
  return words
    .map((word) => {
      if (!/\s/.test(word) || word.includes('"')) return word
      const [, minus = '', key = '', text = ''] = /^(-?)([a-z]+:)?(.*)$/is.exec(word) ?? []
      return `${minus}${key}"${text.replace(/["\\]/g, '\\$&')}"`
    })
    .join(' ')
}

/** Marks the invalid part of a filter. */
async function withFilterErrors<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TraceFilterError) throw filterError(error.message, error.filter, error.column)
    const { filter, column } = error instanceof McpError ? error.details : {}
    if (error instanceof Error && typeof filter === 'string' && typeof column === 'number')
      throw filterError(error.message, filter, column)
    if (error instanceof McpError && isRejection(error)) throw usageError(error.message)
    throw error
  }
}

function filterError(message: string, filter: string, column: number): CliError {
  return usageError(`${oneLine(message)}:\n  ${filter}\n  ${' '.repeat(column - 1)}^`)
}
