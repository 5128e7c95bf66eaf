import { randomUUID } from 'node:crypto'
import { type CallToolResult, type ContentBlock, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { ResultTable } from '../log/store/result-table.ts'
import { isRecord } from '../shared/json.ts'
import { oneLine } from '../shared/text.ts'
import type { Results, ResultText, StoredResult } from '../types/index.ts'
import { type Media, mediaIn, omittedMedia } from './media.ts'

const scheme = 'jackfield://results/'

/**
 * Results that were too large for a model, which it reads in parts. `parentOf` returns the conversation that another was forked
 * from: results of the parent are available to the fork.
 */
export function createResults(
  table: ResultTable,
  parentOf: (conversation: string) => string | null | undefined = () => undefined,
  now: () => number = Date.now,
): Results {
  function knows(conversation: string, given: string | null): boolean {
    for (let own: string | null | undefined = conversation; typeof own === 'string'; own = parentOf(own)) {
      if (own === given) return true
    }
    return false
  }

  function get(id: string): StoredResult | undefined {
    const row = table.get(id.startsWith(scheme) ? id.slice(scheme.length) : id)
    if (row === undefined) return undefined
    const result: CallToolResult = readJson(row.result)
    return { ...row, uri: `${scheme}${row.id}`, result }
  }
  return {
    get,
    fit: (result, { characters, server = '', tool = '', conversation = null, activity = null }) =>
      fit(result, characters, () => {
        const id = randomUUID()
        const at = new Date(now()).toISOString()
        table.put({ id, server, tool, conversation, activity, at, result: JSON.stringify(result) })
        return id
      }),
    read(id, { path, from = 0, characters } = {}, { conversation } = {}): ResultText {
      const kept = get(id)
      if (kept === undefined || (conversation !== undefined && !knows(conversation, kept.conversation))) {
        throw new McpError(
          'NOT_FOUND',
          `There is no result ${JSON.stringify(id)} any more, or here. Call the tool again for a new one.`,
        )
      }
      const text = path === undefined ? wholeText(kept.result) : storedResult(kept.result, path)
      const begin = Math.min(Math.max(0, Math.trunc(from)), text.length)
      const part = text.slice(begin, characters === undefined ? undefined : begin + Math.max(1, characters))
      const end = begin + part.length
      return { text: part, from: begin, total: text.length, ...(end < text.length && { next: end }) }
    },
  }
}

/** The values at a path: text as it is, anything else as JSON; several values on one line each. */
function storedResult(result: CallToolResult, path: string): string {
  return valuesAt(documentOf(result), path)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n')
}

/** Maximum base64 characters of one image or document for a model; providers reject more. */
const mediaCharacters = 6_000_000
/** The same for audio, which costs about a token for every 500 bytes. */
const audioCharacters = 1_500_000
/** UTF-8 bytes of a preview, an estimated 1 200 tokens. */
const previewBytes = 4_200
const noteBytes = 80
const tooLargeToShow = 'it is too large for a model'
const outlined = 20

/**
 * A tool's result for a model: whole if its text has at most `characters`, else its start and a note about the rest. `keep`
 * stores the whole and returns its id. The result itself is not changed.
 */
export function fit(result: CallToolResult, characters: number, keep: () => string): ContentBlock[] {
  const blocks = blocksOf(result)
  const total = blocks.reduce((sum, block) => sum + sizeOf(block), 0)
  const tooLarge = blocks.some(isTooLarge)
  if (total <= characters && !tooLarge) return [...blocks]

  let room = Math.min(previewBytes, characters)
  let shown = 0
  const out: ContentBlock[] = []
  const cut = (text: string): string => {
    const kept = beginning(text, room)
    room -= Buffer.byteLength(kept)
    shown += kept.length
    return kept
  }
  const say = (text: string): void => {
    const last = out.at(-1)
    if (last?.type === 'text') out[out.length - 1] = { type: 'text', text: `${last.text}\n${text}` }
    else out.push({ type: 'text', text })
  }
  for (const block of blocks) {
    const text = textIn(block)
    if (sentAsMedia(block) !== undefined && !isTooLarge(block)) {
      out.push(block)
    } else if (block.type === 'text') {
      const kept = cut(block.text)
      if (kept !== '') say(kept)
    } else if (block.type === 'resource' && text !== undefined) {
      room -= Buffer.byteLength(block.resource.uri)
      const kept = cut(text)
      if (kept !== '') out.push({ ...block, resource: { ...block.resource, text: kept } })
    } else if (!isTooLarge(block) && sizeOf(block) <= room) {
      room -= sizeOf(block)
      shown += sizeOf(block)
      out.push(block)
    } else if (room > 0) {
      room -= noteBytes
      const media = mediaIn(block)
      say(
        media === undefined
          ? '[a link was left out: too large for the model]'
          : omittedMedia(media, tooLargeToShow),
      )
    }
  }
  const id = keep()
  const lines = [
    `[cut: ${shown} of ${total} characters are shown here. The whole is kept: read more of it with read_result, id "${id}", by "from" or by "path".]`,
    ...outline(result),
  ]
  out.push({ type: 'text', text: lines.join('\n') })
  return out
}

/** Content that models accept as image, audio or document; undefined for everything else. */
function sentAsMedia(block: ContentBlock): Media | undefined {
  const media = mediaIn(block)
  return media?.kind === 'file' && media.type !== 'application/pdf' ? undefined : media
}

function isTooLarge(block: ContentBlock): boolean {
  const media = sentAsMedia(block)
  if (media === undefined) return false
  return media.data.length > (media.kind === 'audio' ? audioCharacters : mediaCharacters)
}

/** Text characters of a block; media are counted separately. */
function sizeOf(block: ContentBlock): number {
  if (sentAsMedia(block) !== undefined) return 0
  return textIn(block)?.length ?? JSON.stringify(block).length
}

/** The structure of a result's JSON, one level deep. */
function outline(result: CallToolResult): string[] {
  const document = documentOf(result)
  if (document === result) return []
  if (Array.isArray(document)) return [`It is JSON: a list of ${document.length}.`]
  if (!isRecord(document)) return []
  const members = Object.entries(document)
  const named = members
    .slice(0, outlined)
    .map(([name, value]) => `.${oneLine(name).slice(0, 40)}: ${describe(value)}`)
  const more = members.length > outlined ? `, and ${members.length - outlined} more` : ''
  return [`It is JSON: ${named.join(', ')}${more}.`]
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return `list of ${value.length}`
  if (typeof value === 'string') return `text of ${value.length}`
  return isRecord(value) ? `object of ${Object.keys(value).length}` : typeof value
}

/** The longest prefix of so many UTF-8 bytes that splits no surrogate pair. */
function beginning(text: string, bytes: number): string {
  // The names before it may have used more than the limit.
  if (bytes <= 0) return ''
  let kept = text.slice(0, bytes)
  for (let size = Buffer.byteLength(kept); size > bytes; size = Buffer.byteLength(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * bytes) / size))
  }
  return kept.length < text.length ? kept.replace(/[\ud800-\udbff]$/, '') : kept
}

type Step = (value: unknown) => unknown[]

const maxSteps = 64
const name = /\.([A-Za-z_$][\w$-]*)/y
const quoted = /\.?\[\s*("(?:[^"\\]|\\.)*")\s*\]/y
const index = /\.?\[\s*(-?\d{1,15})\s*\]/y
const slice = /\.?\[\s*(-?\d{1,15})?\s*:\s*(-?\d{1,15})?\s*\]/y
const every = /\.?\[\s*\]/y
const pipe = /\s*\|\s*/y
const word = /(keys|length)\b/y
const self = /\.(?=\s*(?:\||$))/y

/** The values of a JSON Pointer, or a path as in jq, in a document. Throws an McpError 'INVALID' if it does not match. */
export function valuesAt(document: unknown, path: string): unknown[] {
  const steps = path === '' || path.startsWith('/') ? pointerSteps(path) : pathSteps(path.trim())
  let values: unknown[] = [document]
  for (const step of steps) values = values.flatMap(step)
  return values
}

function pointerSteps(text: string): Step[] {
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((key) => (value) => (Array.isArray(value) ? [at(value, toIndex(key))] : [member(value, key)]))
}

function toIndex(key: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(key)) return Number(key)
  throw unfit(`${JSON.stringify(key)} is no place in a list`)
}

function pathSteps(text: string): Step[] {
  const steps: Step[] = []
  let position = 0
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = position
    const found = pattern.exec(text)
    if (found === null) return undefined
    position = pattern.lastIndex
    return found
  }
  while (position < text.length) {
    const step = nextStep(take)
    if (step === undefined) {
      throw unfit(
        `it cannot be read from ${JSON.stringify(text.slice(position, position + 40))} on. Paths look like .items[0].name, .items[2:5], .items[].name, .items | length`,
      )
    }
    steps.push(step)
    if (steps.length > maxSteps) throw unfit(`it has more than ${maxSteps} steps`)
  }
  return steps
}

function nextStep(take: (pattern: RegExp) => RegExpExecArray | undefined): Step | undefined {
  if (take(pipe) !== undefined) return (value) => [value]
  const called = take(word)?.[1]
  if (called === 'keys') return (value) => [keysOf(value)]
  if (called === 'length') return (value) => [lengthOf(value)]
  const key = take(name)?.[1]
  if (key !== undefined) return (value) => [member(value, key)]
  const text = take(quoted)?.[1]
  if (text !== undefined) {
    const wanted = unquoted(text)
    return (value) => [member(value, wanted)]
  }
  const place = take(index)?.[1]
  if (place !== undefined) return (value) => [at(value, Number(place))]
  const range = take(slice)
  if (range !== undefined) {
    const [, from, to] = range
    return (value) => [listOf(value).slice(Number(from ?? 0), to === undefined ? undefined : Number(to))]
  }
  if (take(every) !== undefined) return (value) => (isRecord(value) ? Object.values(value) : listOf(value))
  return take(self) === undefined ? undefined : (value) => [value]
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    throw unfit(`${JSON.stringify(text)} is not a string as JSON has them`)
  }
}

function member(value: unknown, key: string): unknown {
  if (!isRecord(value)) throw unfit(`there is ${kindOf(value)} where ${JSON.stringify(key)} is looked for`)
  if (Object.hasOwn(value, key)) return value[key]
  const known = Object.keys(value)
    .slice(0, 20)
    .map((one) => one.slice(0, 60))
  throw unfit(`there is no ${JSON.stringify(key)}. There are: ${known.join(', ') || 'none'}`)
}

function at(value: unknown, place: number): unknown {
  const list = listOf(value)
  const found = place < 0 ? list.length + place : place
  if (found in list) return list[found]
  throw unfit(`there is no place ${place} in a list of ${list.length}`)
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  throw unfit(`there is ${kindOf(value)} where a list is looked for`)
}

function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((_, place) => place)
  if (isRecord(value)) return Object.keys(value)
  throw unfit(`${kindOf(value)} has no keys`)
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value) || typeof value === 'string') return value.length
  if (isRecord(value)) return Object.keys(value).length
  throw unfit(`${kindOf(value)} has no length`)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function unfit(why: string): McpError {
  return new McpError('INVALID', `The path does not fit: ${why}`)
}

/** The content, and the structured content as text unless a block contains the same. */
function blocksOf({ content, structuredContent }: CallToolResult): readonly ContentBlock[] {
  if (structuredContent === undefined)
    return content.length > 0 ? content : [{ type: 'text', text: '(no output)' }]
  const json = JSON.stringify(structuredContent)
  if (content.some((block) => block.type === 'text' && sameJson(block.text, json))) return content
  return [...content, { type: 'text', text: json }]
}

/** The text of a block, if that is what it is. */
function textIn(block: ContentBlock): string | undefined {
  if (block.type === 'text') return block.text
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : undefined
}

/** All texts of a result, one after another. */
export function wholeText(result: CallToolResult): string {
  return blocksOf(result)
    .flatMap((block) => textIn(block) ?? [])
    .join('\n')
}

/** The document for paths: the structured content, else the JSON of its only text, else the whole result. */
export function documentOf(result: CallToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent
  const texts = result.content.flatMap((block) => textIn(block) ?? [])
  const [only] = texts
  if (texts.length === 1 && only !== undefined) {
    try {
      return readJson(only)
    } catch {
      return result
    }
  }
  return result
}

function sameJson(text: string, json: string): boolean {
  if (text === json) return true
  // Longer than its formatted form could be: not equal, and not worth parsing.
  if (text.length < json.length || text.length > json.length * 20) return false
  try {
    return JSON.stringify(readJson(text)) === json
  } catch {
    return false
  }
}
