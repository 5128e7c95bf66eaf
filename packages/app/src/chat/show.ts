import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ConversationCall } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import type { CallToolResult } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { usageError } from '../cli/exit.ts'
import { writeErrorReason } from '../cli/file-errors.ts'
import { prettyJson, toolResult } from '../output/content.ts'
import { wrapText } from '../output/flow.ts'
import { rawResult } from '../output/formats.ts'
import { mediaOf, saveMedia } from '../output/media.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { duration } from './calls.ts'
import type { ChatState } from './state.ts'
import type { ChatSurface } from './surface.ts'

const usage = 'Usage: /show [number] [--all] [--output-file <file>] [--save-media <folder>]'
/** Characters shown of the arguments and of the result without --all. */
const maxShown = { lines: 200, characters: 20_000 }

/** The recorded data of one call. */
interface RecordedCall {
  readonly number: number
  readonly call: ConversationCall
  /** How it ended, or that it is running. */
  readonly outcome: string
  readonly durationMs: number | null
  /** The tool's result, or the model's version of it when the log no longer has the whole. */
  readonly result: CallToolResult | undefined
  readonly isWhole: boolean
}

/** `/show [number]`: the whole arguments and result of one call of this conversation. */
export async function showCall(
  words: readonly string[],
  state: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const { which, all, file, folder } = parseOptions(words)
  const shown = await callNumbered(which, state)
  const { call, result } = shown
  const { palette } = surface
  const note = (text: string): void =>
    surface.write(`${palette.dim(wrapText(text, surface.columns(), 0, 2))}\n`)
  if (file === undefined && folder === undefined) return writeCall(shown, all, surface)
  if (result === undefined) throw usageError(`Call ${shown.number} has no result yet.`)
  if (file !== undefined) {
    const path = resolve(state.cwd, file)
    await writeFile(path, fileContent(shown, result, file), { flag: 'wx', mode: 0o600 }).catch(
      (error: unknown) => {
        throw usageError(`The result was not written: ${writeErrorReason(error)}. Name another file.`)
      },
    )
    note(`The result of call ${shown.number} was written to ${oneLine(path)}`)
  }
  if (folder !== undefined) {
    const output = { json: false, palette, columns: surface.columns(), result() {}, row() {}, note }
    await saveMedia(mediaOf(result.content, call.name), folder, state.cwd, output)
  }
}

interface ShowOptions {
  which: string | undefined
  all: boolean
  file?: string
  folder?: string
}

function parseOptions(words: readonly string[]): ShowOptions {
  const choices: ShowOptions = { which: undefined, all: false }
  for (let n = 0; n < words.length; n += 1) {
    const word = words[n]
    if (word === '--all') choices.all = true
    else if (word === '--output-file' || word === '--save-media') {
      n += 1
      const value = words[n]
      if (value === undefined) throw usageError(`${word} needs a name. ${usage}`)
      if (word === '--output-file') choices.file = value
      else choices.folder = value
    } else if (choices.which === undefined && word !== undefined && !word.startsWith('--')) {
      choices.which = word
    } else throw usageError(`"${oneLine(word ?? '', 60)}" is unknown. ${usage}`)
  }
  return choices
}

async function callNumbered(
  which: string | undefined,
  { client, conversation }: ChatState,
): Promise<RecordedCall> {
  const calls = await client.call('conversations.calls', { id: conversation.id })
  if (calls.length === 0) throw usageError('The model has called no tool in this conversation.')
  const number = which === undefined ? calls.length : Number(which.replace(/^\[(\d+)\]$/, '$1'))
  const call = Number.isInteger(number) ? calls[number - 1] : undefined
  if (call === undefined)
    throw usageError(`There is no call ${oneLine(which ?? '', 20)}. Calls are numbered 1 to ${calls.length}.`)
  return { number, call, ...(await callEnd(call, client)) }
}

/** The log has the whole result; the model's version may be cut. */
async function callEnd(
  call: ConversationCall,
  client: HostClient,
): Promise<Omit<RecordedCall, 'number' | 'call'>> {
  const [row] = call.activity === undefined ? [] : await client.call('activity.list', { id: call.activity })
  const logged = row === undefined ? undefined : asResult(row.detail['result'])
  if (row !== undefined && logged !== undefined)
    return {
      outcome: row.outcome,
      durationMs: row.durationMs,
      result: logged,
      isWhole: row.detail['cut'] === undefined,
    }
  if (call.result === undefined)
    return { outcome: 'running', durationMs: null, result: undefined, isWhole: true }
  const { content, isError } = call.result
  return {
    outcome: row?.outcome ?? (isError === true ? 'failed' : 'ok'),
    durationMs: row?.durationMs ?? null,
    result: { content, ...(isError !== undefined && { isError }) },
    isWhole: call.activity === undefined,
  }
}

function asResult(value: unknown): CallToolResult | undefined {
  return isResult(value) ? value : undefined
}

function isResult(value: unknown): value is CallToolResult {
  return typeof value === 'object' && value !== null && 'content' in value && Array.isArray(value.content)
}

function writeCall(
  { number, call, outcome, durationMs, result, isWhole }: RecordedCall,
  all: boolean,
  surface: ChatSurface,
): void {
  const { palette } = surface
  const columns = surface.columns()
  const indent = columns === undefined ? 0 : 2
  const facts = [
    outcome,
    ...(durationMs === null ? [] : [duration(durationMs)]),
    ...(call.activity === undefined ? [] : [`/log #${call.activity}`]),
  ]
  const line = (text: string): void => surface.write(`${wrapText(text, columns, 0, 2)}\n`)
  const part = (text: string): void => {
    const { shown, omitted } = all ? { shown: text, omitted: '' } : startOf(text)
    surface.write(`${wrapText(shown, columns, indent)}\n`)
    if (omitted === '') return
    line(
      palette.yellow(
        `… ${omitted} more. /show ${number} --all shows everything, /show ${number} --output-file <file> writes it.`,
      ),
    )
  }
  line(`${palette.dim(`[${number}]`)} ${palette.bold(oneLine(call.name))}  ${palette.dim(facts.join(' · '))}`)
  line(palette.dim('arguments'))
  part(prettyJson(call.arguments))
  if (result === undefined) {
    line(palette.dim('no result yet'))
    return
  }
  line(palette.dim(isWhole ? 'result' : 'result (only this part is stored)'))
  part(toolResult(withIndentedJson(result), palette))
  const media = mediaOf(result.content, call.name).length
  if (media > 0) line(palette.dim(`/show ${number} --save-media <folder> saves its binary data.`))
}

/** Formats JSON in texts over several lines; leaves everything else unchanged. */
function withIndentedJson(result: CallToolResult): CallToolResult {
  const content = result.content.map((block) =>
    block.type === 'text' && /^\s*[[{]/.test(block.text) ? { ...block, text: prettyText(block.text) } : block,
  )
  return { ...result, content }
}

function prettyText(text: string): string {
  try {
    return JSON.stringify(readJson(text), null, 2)
  } catch {
    return text
  }
}

/** The part shown at once, cut at a line end if possible, and how much is omitted. */
function startOf(text: string): { shown: string; omitted: string } {
  const lines = text.split('\n')
  const head = lines.slice(0, maxShown.lines).join('\n')
  if (head.length > maxShown.characters) {
    const shown = [...head.slice(0, maxShown.characters)].slice(0, -1).join('')
    return { shown, omitted: `${text.length - shown.length} characters` }
  }
  const left = lines.length - maxShown.lines
  return { shown: head, omitted: left > 0 ? count(left, 'line') : '' }
}

/** The texts of a result as the tool returned them, or the whole call as JSON for a `.json` file. */
function fileContent({ call }: RecordedCall, result: CallToolResult, file: string): string {
  const { name, arguments: args } = call
  if (file.endsWith('.json')) return `${JSON.stringify({ name, arguments: args, result }, null, 2)}\n`
  const texts = rawResult(result).filter((piece) => typeof piece === 'string')
  if (texts.length === 0)
    throw usageError(
      'The result has no text. Use --save-media for its data, or a file name that ends in .json for the whole call.',
    )
  return texts.join('\n')
}
