import type { CatalogPrompt, CatalogTool } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import type { Command, Option } from 'commander'
import { ExitCode } from '../cli/exit.ts'
import type { Io } from '../cli/io.ts'
import { readLayers } from '../cli/target.ts'
import type { HostChoice } from '../daemon/address.ts'
import { askRunningHost } from '../daemon/attach.ts'
import { oneLine, plain } from '../output/sanitize.ts'

interface Candidate {
  readonly value: string
  readonly about?: string | undefined
}

/** What can be at the end of a command line. */
interface Completions {
  /** `files`: the shell completes file names. `open`: no space follows, because the word continues. */
  readonly kind: 'files' | 'open' | 'done'
  readonly candidates: readonly Candidate[]
}

/** A command line up to the word that is completed. */
interface Line {
  readonly command: Command
  /** Positional arguments. */
  readonly values: readonly string[]
  /** Values of options, by the name of their attribute. */
  readonly options: Readonly<Record<string, readonly string[]>>
  /** The option whose value is completed. */
  readonly option: Option | undefined
  readonly current: string
}

const maxCandidates = 300
const maxDescription = 70

const fileCompletions: Completions = { kind: 'files', candidates: [] }
const noCompletions: Completions = { kind: 'done', candidates: [] }

/** Options whose value is a file or a folder. */
const fileOptions = [
  'answers',
  'config',
  'keys',
  'outputFile',
  'record',
  'root',
  'save',
  'saveMedia',
  'store',
  'users',
]

/**
 * `jackfield completion words <shell> -- …`: prints what can be at the end of a command line. The first line is the kind, every
 * other a candidate. Nothing is started, and a failure prints nothing, because the shell is showing a prompt.
 */
export async function completionWords(
  program: Command,
  shell: string,
  typedWords: readonly string[],
  io: Io,
): Promise<ExitCode> {
  const typed = shell === 'bash' ? bashWords(typedWords[0] ?? '') : typedWords
  const current = typed?.at(-1)
  const completions =
    typed === undefined || current === undefined
      ? noCompletions
      : await completionsFor(parseLine(program, typed.slice(0, -1), current), io).catch(() => noCompletions)
  const candidates = completions.candidates
    .filter(({ value }) => value.startsWith(current ?? '') && plain(value) === value && !/[\n\t]/.test(value))
    .slice(0, maxCandidates)
  const lines = candidates.map(({ value, about = '' }) =>
    shell === 'bash'
      ? bashQuoted(value.slice(breakBefore(current ?? '', typedWords[1] ?? '')))
      : `${value}\t${oneLine(about, maxDescription)}`,
  )
  io.stdout.write([completions.kind, ...lines, ''].join('\n'))
  return ExitCode.done
}

/** Reads the words before the current one as the command line parser does. */
function parseLine(program: Command, words: readonly string[], current: string): Line {
  let command = program
  let option: Option | undefined
  const values: string[] = []
  const options: Record<string, string[]> = {}
  for (const word of words) {
    const isFlag = word.startsWith('-') && word !== '-'
    if (option !== undefined && !isFlag) {
      options[option.attributeName()] = [...(options[option.attributeName()] ?? []), word]
      if (!option.variadic) option = undefined
      continue
    }
    if (isFlag) {
      const [flag = '', value] = word.split(/=(.*)/s, 2)
      const known = command.options.find((one) => one.short === flag || one.long === flag)
      if (known !== undefined && value !== undefined) options[known.attributeName()] = [value]
      option =
        known !== undefined && value === undefined && (known.required || known.optional) ? known : undefined
      continue
    }
    const next = values.length > 0 ? undefined : command.commands.find((one) => one.name() === word)
    if (next === undefined) values.push(word)
    else command = next
  }
  return { command, values, options, option, current }
}

async function completionsFor(line: Line, io: Io): Promise<Completions> {
  const { command, option, values, current } = line
  if (current.startsWith('-')) return { kind: 'done', candidates: flagsOf(command) }
  if (option !== undefined) {
    if (option.argChoices !== undefined) return { kind: 'done', candidates: asCandidates(option.argChoices) }
    if (fileOptions.includes(option.attributeName())) return fileCompletions
    if (option.attributeName() === 'server')
      return { kind: 'done', candidates: asCandidates(await serverNames(line, io)) }
    return option.optional
      ? noCompletions
      : { kind: 'done', candidates: asCandidates(choicesIn(option.description)) }
  }
  if (values.length === 0 && command.commands.length > 0) {
    const visible = command.createHelp().visibleCommands(command)
    const candidates = visible.map((one) => ({ value: one.name(), about: one.description() }))
    return { kind: 'done', candidates }
  }
  return await argumentsFor(line, io)
}

function flagsOf(command: Command): Candidate[] {
  const own = command.options.filter(({ hidden }) => !hidden)
  return [
    ...own.map(({ long, short, description }) => ({ value: long ?? short ?? '', about: description })),
    { value: '--help', about: 'display help for command' },
  ]
}

/** The words of a description such as `auto, modern (2026-07-28) or legacy`. */
function choicesIn(description: string): string[] {
  const words = description.replaceAll(/ \([^)]*\)/g, '')
  return /^\w+(?:, \w+)* or \w+$/.test(words) ? words.split(/, | or /) : []
}

/** The positional argument at the place of the current word, as the usage of the command names it. */
function argumentKind(command: Command, index: number): string {
  const names = Array.from(command.usage().matchAll(/[<[]([^\]>]+)[\]>]/g), ([, name = '']) => name)
  const kinds = names.filter((name) => name !== 'options' && name !== 'command')
  const kind = kinds[index] ?? kinds.findLast((name) => name.endsWith('...')) ?? ''
  return kind.replace(/\.\.\.$/, '')
}

async function argumentsFor(line: Line, io: Io): Promise<Completions> {
  const { command, current, values } = line
  if (command.name() === 'install') return fileCompletions
  const hasTool = argumentKind(command, 1) === 'tool'
  const [first = '', ...rest] = values
  // A target can have its tool behind it: everything.echo.
  const [, prefix = '', joinedTool] = (hasTool && /^([^.]+)\.(.+)$/.exec(first)) || []
  const server = joinedTool === undefined ? first : prefix
  const isJoined = joinedTool !== undefined && (await serverNames(line, io)).includes(server)
  const parts = isJoined ? [server, joinedTool, ...rest] : values
  const kind = argumentKind(command, parts.length)
  switch (kind) {
    case 'file':
      return fileCompletions
    case 'target':
    case 'server': {
      const names = await serverNames(line, io)
      const [, of = ''] = (hasTool && /^([^.]+)\./.exec(current)) || []
      if (!names.includes(of)) return { kind: 'done', candidates: asCandidates(names) }
      const tools = await toolsOf(of, line, io)
      return { kind: 'done', candidates: tools.map((one) => ({ ...one, value: `${of}.${one.value}` })) }
    }
    case 'tool':
      return { kind: 'done', candidates: await toolsOf(server, line, io) }
    case 'uri': {
      const resources = await askHost(line, io, async (call) => await call('catalog.resources', { server }))
      const candidates = (resources ?? []).map(({ resource }) => ({
        value: resource.uri,
        about: resource.name,
      }))
      return { kind: 'done', candidates }
    }
    case 'key=value':
      return hasTool
        ? await toolArguments(server, parts[1] ?? '', line, io)
        : await promptArguments(parts, line, io)
    default:
      if (command.name() === 'prompt' || kind === 'prompt|template') {
        const prompts = await promptsOf(server, line, io)
        return { kind: 'done', candidates: prompts.map(({ prompt }) => asCandidate(prompt)) }
      }
      return { kind: 'done', candidates: /^\w+(?:\|\w+)+$/.test(kind) ? asCandidates(kind.split('|')) : [] }
  }
}

async function toolArguments(server: string, tool: string, line: Line, io: Io): Promise<Completions> {
  const tools = await askHost(line, io, async (call) => await call('catalog.tools', { server }))
  const properties = asObject(tools?.find((one) => one.tool.name === tool)?.tool.inputSchema['properties'])
  const [, key] = /^([^=]+)=/.exec(line.current) ?? []
  if (key === undefined)
    return remainingKeys(
      Object.entries(properties).map(([name, schema]) => ({
        name,
        about: asText(asObject(schema)['description']),
      })),
      line,
    )
  const { enum: allowed, type } = asObject(properties[key])
  const choices = Array.isArray(allowed) ? allowed.map(String) : type === 'boolean' ? ['true', 'false'] : []
  return { kind: 'done', candidates: asCandidates(choices.map((value) => `${key}=${value}`)) }
}

async function promptArguments(
  [server = '', name = '']: readonly string[],
  line: Line,
  io: Io,
): Promise<Completions> {
  const [, key, value = ''] = /^([^=]+)=(.*)$/s.exec(line.current) ?? []
  if (key === undefined) {
    const prompt = (await promptsOf(server, line, io)).find((one) => one.prompt.name === name)?.prompt
    return remainingKeys(
      (prompt?.arguments ?? []).map((one) => ({ name: one.name, about: one.description })),
      line,
    )
  }
  const chosen = Object.fromEntries(
    line.values.flatMap((word) => [word.split(/=(.*)/s, 2)].filter((pair) => pair[1] !== undefined)),
  )
  const params = {
    ref: { type: 'ref/prompt' as const, name },
    argument: { name: key, value },
    context: { arguments: chosen },
  }
  const completion = await askHost(
    line,
    io,
    async (call) => await call('catalog.complete', { server, params }),
  )
  return { kind: 'done', candidates: asCandidates((completion?.values ?? []).map((one) => `${key}=${one}`)) }
}

function remainingKeys(
  keys: readonly { name: string; about?: string | undefined }[],
  { values }: Line,
): Completions {
  const left = keys.filter(({ name }) => !values.some((word) => word.startsWith(`${name}=`)))
  return { kind: 'open', candidates: left.map(({ name, about }) => ({ value: `${name}=`, about })) }
}

async function toolsOf(server: string, line: Line, io: Io): Promise<Candidate[]> {
  const tools: CatalogTool[] | undefined = await askHost(
    line,
    io,
    async (call) => await call('catalog.tools', { server }),
  )
  return (tools ?? []).map(({ tool }) => asCandidate(tool))
}

async function promptsOf(server: string, line: Line, io: Io): Promise<CatalogPrompt[]> {
  return (await askHost(line, io, async (call) => await call('catalog.prompts', { server }))) ?? []
}

function asCandidate({
  name,
  title,
  description,
}: {
  name: string
  title?: string
  description?: string
}): Candidate {
  return { value: name, about: title ?? description }
}

function asCandidates(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value }))
}

async function serverNames(line: Line, io: Io): Promise<string[]> {
  const { servers } = await readLayers(hostChoiceOf(line), io)
  return Object.keys(servers).filter((name) => servers[name]?.disabled !== true)
}

/** Asks the host process of this folder; undefined if none runs. */
async function askHost<T>(
  line: Line,
  io: Io,
  work: (call: HostClient['call']) => Promise<T>,
): Promise<T | undefined> {
  return await askRunningHost(hostChoiceOf(line), io, 'jackfield completion', work)
}

function hostChoiceOf({ options }: Line): HostChoice {
  const { config, profile, store } = options
  return {
    ...(config !== undefined && { config }),
    ...(profile?.[0] !== undefined && { profile: profile[0] }),
    ...(store?.[0] !== undefined && { store: store[0] }),
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The words of a bash command line without the command; undefined if the last one is quoted, which is left to the shell. */
function bashWords(line: string): string[] | undefined {
  const raw = line.match(/(?:\\.|'[^']*'?|"(?:\\.|[^"\\])*"?|[^\s'"\\])+/gs) ?? []
  const words = /\s$/.test(line) && !/\\\s$/.test(line) ? [...raw, ''] : raw
  if (/['"\\]/.test(words.at(-1) ?? '')) return undefined
  return words
    .slice(1)
    .map((word) =>
      word.replace(
        /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"/gs,
        (_, one, single, double) => one ?? single ?? double,
      ),
    )
}

/** Where the part of a word begins that bash replaces: after the last of the characters at which it breaks words. */
function breakBefore(word: string, breaks: string): number {
  return Math.max(-1, ...[...breaks].filter((one) => !/\s/.test(one)).map((one) => word.lastIndexOf(one))) + 1
}

/** Bash inserts candidates as they are. */
function bashQuoted(text: string): string {
  return text.replace(/[^\w@%+=:,./\u0080-\uffff-]/g, '\\$&')
}
