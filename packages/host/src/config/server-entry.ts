import { isRecord, type JsonRecord } from '../json.ts'
import type { ServerConfig } from '../types/index.ts'
import type { ConfigEnvironment } from './expand.ts'
import { type ConfigProblem, member } from './problem.ts'
import { createReader, kindOf, type Reader } from './reader.ts'

const stdioFields = ['command', 'args', 'env', 'cwd']
const httpFields = ['url', 'headers']
const commonFields = ['disabled', 'type', 'description']
const stdioTypes = ['stdio']
const httpTypes = ['http', 'streamable-http', 'streamableHttp', 'sse']

/** One entry of `mcpServers`, or undefined with its problems noted. */
export function readServer(
  entry: unknown,
  path: string,
  options: { file: string; env: ConfigEnvironment; problems: ConfigProblem[] },
): ServerConfig | undefined {
  if (!isRecord(entry)) {
    createReader(options).problem(path, `must be an object with "command" or "url", not ${kindOf(entry)}`)
    return undefined
  }
  const reader = createReader({ ...options, keepUnset: entry['disabled'] === true })
  const disabled = reader.flag(entry['disabled'], member(path, 'disabled'))
  const type = reader.oneOf(entry['type'], member(path, 'type'), [...stdioTypes, ...httpTypes])
  const config = readTarget(entry, path, type, reader)
  if (config === undefined || reader.failed) return undefined
  return disabled === undefined ? config : { ...config, disabled }
}

function readTarget(
  entry: JsonRecord,
  path: string,
  type: string | undefined,
  reader: Reader,
): ServerConfig | undefined {
  const hasCommand = entry['command'] !== undefined
  const hasUrl = entry['url'] !== undefined
  if (hasCommand && hasUrl) {
    reader.problem(path, 'has both "command" and "url": keep the one that is meant')
    return undefined
  }
  if (!hasCommand && !hasUrl) {
    reader.problem(path, 'needs "command" (a program to start) or "url" (an address)')
    return undefined
  }
  if (type !== undefined && (hasCommand ? httpTypes : stdioTypes).includes(type)) {
    reader.problem(
      member(path, 'type'),
      `is "${type}", but the entry has "${hasCommand ? 'command' : 'url'}"`,
    )
  }
  const known = [...commonFields, ...(hasCommand ? stdioFields : httpFields)]
  for (const name of Object.keys(entry)) {
    if (!known.includes(name)) reader.warning(member(path, name), 'is not used by Jackfield')
  }
  return hasCommand ? readCommand(entry, path, reader) : readUrl(entry, path, reader)
}

function readCommand(entry: JsonRecord, path: string, reader: Reader): ServerConfig | undefined {
  const command = reader.text(entry['command'], member(path, 'command'))?.trim()
  const args = reader.texts(entry['args'], member(path, 'args'))
  const env = reader.textRecord(entry['env'], member(path, 'env'))
  const cwd = reader.text(entry['cwd'], member(path, 'cwd'))
  for (const name of Object.keys(env ?? {})) {
    if (name === '' || name.includes('=')) {
      reader.problem(member(member(path, 'env'), name), 'is not a name a variable can have')
    }
  }
  for (const [name, value] of [['command', command] as const, ['cwd', cwd] as const]) {
    if (value === '') reader.problem(member(path, name), 'is empty')
  }
  const texts = [command ?? '', cwd ?? '', ...(args ?? []), ...Object.values(env ?? {})]
  if (texts.some((text) => text.includes('\0'))) reader.problem(path, 'has a NUL character in it')
  if (command === undefined) return undefined
  return {
    command,
    ...(args !== undefined && { args }),
    ...(env !== undefined && { env }),
    ...(cwd !== undefined && { cwd }),
  }
}

function readUrl(entry: JsonRecord, path: string, reader: Reader): ServerConfig | undefined {
  const url = reader.text(entry['url'], member(path, 'url'))?.trim()
  const headers = reader.textRecord(entry['headers'], member(path, 'headers'))
  for (const [name, value] of Object.entries(headers ?? {})) {
    try {
      new Headers([[name, value]])
    } catch {
      reader.problem(member(member(path, 'headers'), name), 'is not a header that can be sent')
    }
  }
  if (url === undefined) return undefined
  const parsed = URL.parse(url)
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    reader.problem(member(path, 'url'), 'must be an http or https address')
    return undefined
  }
  if (parsed.username !== '' || parsed.password !== '') {
    reader.problem(member(path, 'url'), 'must not hold a name or password: use "headers"')
    return undefined
  }
  return { url, ...(headers !== undefined && { headers }) }
}
