import { type Conversation, type Host, type Model, promptMessages } from '@jackfield/host'
import type { SamplingMessage } from '@jackfield/sdk'
import { argumentsFrom, requireAll, textArguments } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { modelsInUse } from '../cli/models.ts'
import { activityTable } from '../output/activity.ts'
import { pretty, promptResult, readResult, toolResult } from '../output/content.ts'
import { aboutGrant } from '../output/rules.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import type { ChatFace } from './chat.ts'

export interface ChatState {
  host: Host
  models: readonly Model[]
  talk: Conversation
  /** Goes along with what the person says next. */
  attached: SamplingMessage[]
  /** Where keys of further models are. */
  env: NodeJS.ProcessEnv
}

/** What a command leads to. */
export type CommandOutcome =
  | { kind: 'done' }
  | { kind: 'leave' }
  | { kind: 'say'; messages: SamplingMessage[] }

interface ChatCommand {
  usage: string
  help: string
  run(
    words: string[],
    state: ChatState,
    face: ChatFace,
    signal: AbortSignal,
  ): CommandOutcome | Promise<CommandOutcome>
}

const done: CommandOutcome = { kind: 'done' }

const commands: Readonly<Record<string, ChatCommand>> = {
  help: { usage: '/help', help: 'this list', run: (_, state, face) => help(state, face) },
  servers: {
    usage: '/servers',
    help: 'how each server stands',
    run: (_, state, face) => servers(state, face),
  },
  tools: {
    usage: '/tools [text]',
    help: 'tools the model can use',
    run: (words, state, face) => tools(words, state, face),
  },
  prompts: {
    usage: '/prompts',
    help: 'prompts of the servers',
    run: (_, state, face) => prompts(state, face),
  },
  resources: {
    usage: '/resources [text]',
    help: 'what can be read',
    run: (words, state, face) => resources(words, state, face),
  },
  attach: {
    usage: '/attach <server> <uri>',
    help: 'read a resource and add it to what you say next',
    run: attach,
  },
  call: { usage: '/call <tool> [key=value …]', help: 'call a tool yourself', run: call },
  activity: {
    usage: '/activity [count | #number]',
    help: 'what happened, newest last; #number shows one row in full',
    run: (words, state, face) => activity(words, state, face),
  },
  remembered: {
    usage: '/remembered [forget <id>]',
    help: 'answers about tools that are remembered; forget one to be asked again',
    run: (words, state, face) => remembered(words, state, face),
  },
  model: {
    usage: '/model [name]',
    help: 'which model answers, or another one',
    run: (words, state, face) => model(words, state, face),
  },
  quit: { usage: '/quit', help: 'leave (or Ctrl+D)', run: () => ({ kind: 'leave' }) },
}

/** Names for completing what the person types after `/`. */
export function commandNames(host: Host): string[] {
  return [...Object.keys(commands), ...host.prompts().map((entry) => slashName(entry))]
}

/** Runs a command, or a prompt written as `/server.prompt`. */
export async function runCommand(
  name: string,
  words: string[],
  state: ChatState,
  face: ChatFace,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command !== undefined) return command.run(words, state, face, signal)
  if (state.host.prompts().some((entry) => slashName(entry) === name))
    return prompt(name, words, state, face, signal)
  throw usageError(`There is no command /${name}. /help lists what there is.`)
}

function slashName(entry: { server: string; prompt: { name: string } }): string {
  return `${entry.server}.${entry.prompt.name}`
}

function help(state: ChatState, face: ChatFace): CommandOutcome {
  const rows = Object.values(commands).map((command) => [command.usage, command.help])
  const own = state.host.prompts().map((entry) => {
    const args = (entry.prompt.arguments ?? []).map((arg) =>
      arg.required === true ? `${arg.name}=…` : `[${arg.name}=…]`,
    )
    return [
      `/${oneLine(slashName(entry))} ${oneLine(args.join(' '))}`.trim(),
      oneLine(entry.prompt.description ?? '', 80),
    ]
  })
  face.write(`${table(['COMMAND', 'DOES'], [...rows, ...own], { palette: face.palette })}\n`)
  face.write(
    `${face.palette.dim('Ctrl+C stops the running turn. Anything else you type goes to the model.')}\n`,
  )
  return done
}

function servers({ host }: ChatState, face: ChatFace): CommandOutcome {
  const rows = [...host.connections].map(([name, state]) => [
    name,
    state.state,
    'revision' in state ? state.revision : '',
    String(host.tools().filter((tool) => tool.server === name).length),
    'reason' in state ? oneLine(state.reason) : '',
  ])
  face.write(
    `${table(['SERVER', 'STATE', 'REVISION', 'TOOLS', 'REASON'], rows, { palette: face.palette })}\n`,
  )
  return done
}

function tools(words: string[], { host }: ChatState, face: ChatFace): CommandOutcome {
  const match = words.join(' ').toLowerCase()
  const rows = host
    .tools()
    .filter(({ name, tool }) => `${name} ${tool.description ?? ''}`.toLowerCase().includes(match))
    .map(({ name, tool }) => [oneLine(name), oneLine(tool.description ?? '', 90)])
  face.write(
    rows.length === 0
      ? 'No tools.\n'
      : `${table(['TOOL', 'DESCRIPTION'], rows, { palette: face.palette })}\n`,
  )
  return done
}

function prompts({ host }: ChatState, face: ChatFace): CommandOutcome {
  const rows = host
    .prompts()
    .map((entry) => [`/${oneLine(slashName(entry))}`, oneLine(entry.prompt.description ?? '', 90)])
  face.write(
    rows.length === 0
      ? 'No prompts.\n'
      : `${table(['PROMPT', 'DESCRIPTION'], rows, { palette: face.palette })}\n`,
  )
  return done
}

function resources(words: string[], { host }: ChatState, face: ChatFace): CommandOutcome {
  const match = words.join(' ').toLowerCase()
  const rows = [
    ...host
      .resources()
      .map(({ server, resource }) => [server, resource.uri, resource.title ?? resource.name]),
    ...host
      .templates()
      .map(({ server, template }) => [server, template.uriTemplate, template.title ?? template.name]),
  ]
    .filter((row) => row.join(' ').toLowerCase().includes(match))
    .map((row) => row.map((cell) => oneLine(cell, 90)))
  face.write(
    rows.length === 0
      ? 'No resources.\n'
      : `${table(['SERVER', 'URI', 'TITLE'], rows, { palette: face.palette })}\n`,
  )
  return done
}

async function attach(
  words: string[],
  state: ChatState,
  face: ChatFace,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const [server, uri] = words
  if (server === undefined || uri === undefined) throw usageError('Usage: /attach <server> <uri>')
  if (!state.host.connections.has(server)) throw usageError(`There is no server "${server}".`)
  const result = await state.host.read(server, uri, { signal, conversation: state.talk.id })
  face.write(`${readResult(result, face.palette)}\n`)
  state.attached.push(
    ...promptMessages({
      messages: result.contents.map((resource) => ({
        role: 'user',
        content: { type: 'resource', resource },
      })),
    }),
  )
  face.write(`${face.palette.dim('It goes along with what you say next.')}\n`)
  return done
}

async function call(
  words: string[],
  state: ChatState,
  face: ChatFace,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const [name, ...rest] = words
  const entry = state.host.tools().find((tool) => tool.name === name)
  if (entry === undefined) throw usageError(`There is no tool "${name ?? ''}". /tools lists them.`)
  const args = argumentsFrom(rest, entry.tool.inputSchema)
  requireAll(args, entry.tool.inputSchema)
  const { result } = await state.host.call(entry.name, args, {
    caller: 'person',
    conversation: state.talk.id,
    signal,
  })
  face.write(`${toolResult(result, face.palette)}\n`)
  return done
}

async function prompt(
  name: string,
  words: string[],
  state: ChatState,
  face: ChatFace,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const entry = state.host.prompts().find((candidate) => slashName(candidate) === name)
  if (entry === undefined) throw usageError(`There is no prompt /${name}.`)
  const args = textArguments(words)
  for (const argument of entry.prompt.arguments ?? []) {
    if (argument.required !== true || Object.hasOwn(args, argument.name)) continue
    const about = argument.description === undefined ? '' : ` (${oneLine(argument.description)})`
    const typed = await face.readLine(`  ${oneLine(argument.name)}${about} › `)
    if (typed === undefined || typed.trim() === '')
      throw usageError(`/${name} needs ${argument.name}=…; left unsent.`)
    args[argument.name] = typed.trim()
  }
  const result = await state.host.prompt(entry.name, args, { signal, conversation: state.talk.id })
  face.write(`${promptResult(result, face.palette)}\n`)
  const answer = await face.readLine('Send this to the model? [Y/n] › ')
  if (answer === undefined || /^n/i.test(answer.trim())) {
    face.write('Left unsent.\n')
    return done
  }
  return { kind: 'say', messages: promptMessages(result) }
}

function activity(words: string[], { host }: ChatState, face: ChatFace): CommandOutcome {
  const [which = '20'] = words
  if (which.startsWith('#')) {
    const row = host.activity().find((entry) => entry.id === Number(which.slice(1)))
    if (row === undefined) throw usageError(`There is no row ${which}.`)
    face.write(`${pretty(row)}\n`)
    return done
  }
  const limit = Number(which)
  if (!Number.isInteger(limit) || limit < 1) throw usageError('Usage: /activity [count | #number]')
  face.write(`${activityTable(host.activity({ limit }), face.palette)}\n`)
  return done
}

function remembered(words: string[], { host }: ChatState, face: ChatFace): CommandOutcome {
  const [verb, id] = words
  if (verb !== undefined) {
    if (verb !== 'forget' || id === undefined) throw usageError('Usage: /remembered [forget <id>]')
    if (!host.policy.revoke(id)) throw usageError(`No answer has the id "${id}". /remembered lists them.`)
    face.write('Forgotten.\n')
    return done
  }
  const rows = host.policy
    .grants()
    .map((grant) => [grant.id, grant.verdict, grant.scope, grant.at.slice(0, 10), aboutGrant(grant)])
  face.write(
    rows.length === 0
      ? 'Nothing is remembered.\n'
      : `${table(['ID', 'VERDICT', 'KEPT', 'SINCE', 'TOOL'], rows, { palette: face.palette })}\n`,
  )
  return done
}

function model(words: string[], state: ChatState, face: ChatFace): CommandOutcome {
  const [wanted] = words
  if (wanted === undefined) {
    for (const one of state.models) face.write(`${one.id === state.talk.model.id ? '▸' : ' '} ${one.id}\n`)
    return done
  }
  const known = state.models.find((one) => one.id === wanted || one.id.endsWith(`/${wanted}`))
  state.talk.model = known ?? modelsInUse(state.env, wanted, [])[0]
  face.write(`${state.talk.model.id} answers from now on.\n`)
  return done
}
