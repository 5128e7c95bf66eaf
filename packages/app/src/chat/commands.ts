import { findOllama } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import type { SamplingMessage } from '@jackfield/sdk'
import { argumentsFrom, requireAll } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { modelsInUse } from '../cli/models.ts'
import { finished } from '../cli/session.ts'
import { activityTable } from '../output/activity.ts'
import { since, stateReason, stateText } from '../output/connection.ts'
import { pretty, toolResult } from '../output/content.ts'
import { flowed } from '../output/flow.ts'
import { aboutGrant } from '../output/rules.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { attachCommand } from './attach-command.ts'
import { attached, detach } from './attached.ts'
import { showContext } from './context.ts'
import { begin, compact, fork, resume, save, title } from './conversations.ts'
import { inbox, log, respond, roots, tools } from './inspect.ts'
import { notice } from './notices.ts'
import { usePrompt } from './prompt.ts'
import { show } from './show.ts'
import type { ChatState } from './state.ts'
import type { ChatSurface } from './surface.ts'

/** The result of a command. */
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
    surface: ChatSurface,
    signal: AbortSignal,
  ): CommandOutcome | Promise<CommandOutcome>
}

const done: CommandOutcome = { kind: 'done' }

const maxActivities = 100_000

/** A command without a result. */
function plainly(
  work: (words: string[], state: ChatState, surface: ChatSurface, signal: AbortSignal) => unknown,
): ChatCommand['run'] {
  return async (...given) => {
    await work(...given)
    return done
  }
}

const commands: Readonly<Record<string, ChatCommand>> = {
  help: { usage: '/help', help: 'this list', run: (_, state, surface) => help(state, surface) },
  servers: {
    usage: '/servers',
    help: 'the state of each server',
    run: (_, state, surface) => servers(state, surface),
  },
  tools: {
    usage: '/tools [text | on <name> | off <name>]',
    help: 'tools the model can use, and what they cost; /tools off takes servers, server.tool or patterns with * from the model for this conversation',
    run: plainly(tools),
  },
  prompts: {
    usage: '/prompts',
    help: 'prompts of the servers',
    run: (_, state, surface) => prompts(state, surface),
  },
  resources: {
    usage: '/resources [text]',
    help: 'what can be read',
    run: (words, state, surface) => resources(words, state, surface),
  },
  attach: {
    usage: '/attach [words | <server> <uri>]',
    help: 'choose resources to send with your next message, or name one; @server:uri in a message does the same',
    run: plainly(attachCommand),
  },
  attached: {
    usage: '/attached [number]',
    help: 'what is attached and whether it changed since; /attach again [number] takes it as it is now',
    run: plainly(attached),
  },
  detach: {
    usage: '/detach <number | all>',
    help: 'take away what is attached; /attached has the numbers',
    run: plainly(detach),
  },
  roots: {
    usage: '/roots [add <folder> | allow <server> | …]',
    help: 'folders that servers may see, and which server sees which; add, remove, exclude, include, preview, allow, deny and forget as in jackfield roots',
    run: plainly(roots),
  },
  context: {
    usage: '/context [on | off]',
    help: 'resources that are included without being chosen, since servers mark them for a model, and why; off leaves them out',
    run: plainly(showContext),
  },
  show: {
    usage: '/show [number] [--all]',
    help: 'arguments and result of a call of the model, by default the last; --output-file <file> and --save-media <folder> write it',
    run: plainly(show),
  },
  call: { usage: '/call <tool> [key=value …]', help: 'call a tool yourself', run: call },
  activity: {
    usage: '/activity [count | #number]',
    help: 'what happened, newest last; #number shows one row in full',
    run: (words, state, surface) => activity(words, state, surface),
  },
  log: {
    usage: '/log [view] [filter | #number]',
    help: 'every message beside what caused it, as jackfield log has it; views are --tree, --timeline, --stats and --raw',
    run: plainly(log),
  },
  inbox: {
    usage: '/inbox',
    help: 'questions that wait for an answer, those that were left for later too',
    run: plainly((_, state, surface) => inbox(state, surface)),
  },
  respond: {
    usage: '/respond <id>',
    help: 'answer a question of the inbox and continue its call',
    run: plainly(respond),
  },
  remembered: {
    usage: '/remembered [forget <id>]',
    help: 'answers about tools that are remembered; forget one to be asked again',
    run: (words, state, surface) => remembered(words, state, surface),
  },
  model: {
    usage: '/model [name]',
    help: 'which model answers, or another one',
    run: (words, state, surface) => model(words, state, surface),
  },
  resume: {
    usage: '/resume [id or words]',
    help: 'list stored conversations, or continue one',
    run: plainly(resume),
  },
  new: {
    usage: '/new',
    help: 'begin another conversation',
    run: plainly((_, state, surface) => begin(state, surface)),
  },
  fork: {
    usage: '/fork [turns]',
    help: 'go on in a copy of this conversation, without its last turns',
    run: plainly(fork),
  },
  compact: {
    usage: '/compact [summary]',
    help: 'replace the messages so far with a summary, after you reviewed it',
    run: plainly(compact),
  },
  title: {
    usage: '/title [words]',
    help: 'what this conversation is called',
    run: plainly(title),
  },
  save: {
    usage: '/save <file>',
    help: 'write the conversation to a file, as Markdown or .json',
    run: plainly(save),
  },
  quit: { usage: '/quit', help: 'leave (or Ctrl+D)', run: () => ({ kind: 'leave' }) },
}

/** Command names, for completion after `/`. */
export async function commandNames(client: HostClient): Promise<string[]> {
  const prompts = await client.call('library.prompts', {})
  return [...Object.keys(commands), ...prompts.map(({ command }) => command)]
}

/** Runs a command, or a prompt written as `/server.prompt`. */
export async function runCommand(
  name: string,
  words: string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command !== undefined) return command.run(words, state, surface, signal)
  if ((await state.client.call('library.prompts', {})).some((entry) => entry.command === name))
    return await usePrompt(name, words, state, surface, signal)
  throw usageError(`There is no command /${name}. /help lists what there is.`)
}

async function help({ client }: ChatState, surface: ChatSurface): Promise<CommandOutcome> {
  const options = { palette: surface.palette, columns: surface.columns() }
  const rows = Object.values(commands).map((command) => [command.usage, command.help])
  surface.write(`${table(['COMMAND', 'DOES'], rows, options)}\n`)
  const own = (await client.call('library.prompts', {})).map((entry) => {
    const args = (entry.prompt.arguments ?? []).map((arg) =>
      arg.required === true ? `${arg.name}=…` : `[${arg.name}=…]`,
    )
    const about = oneLine(entry.prompt.description ?? '', 80)
    return [`/${oneLine(entry.command)}`, `${about}\n${oneLine(args.join(' '))}`.trim()]
  })
  if (own.length > 0) surface.write(`\n${table(['PROMPT', 'DOES'], own, options)}\n`)
  const keys =
    'Ctrl+C stops the running turn. Tab completes, Up and Ctrl+R find what you typed before. Alt+Enter, Ctrl+J or a \\ before Enter begins a new line. What you send while an answer is written is queued. A question that appears while you type takes no keys until you stop typing for a second. Anything else you type goes to the model.'
  surface.write(`${surface.palette.dim(flowed(keys, options.columns))}\n`)
  return done
}

async function servers({ client }: ChatState, surface: ChatSurface): Promise<CommandOutcome> {
  const rows = (await client.call('servers.list', {})).map(({ name, connection, tools }) => [
    name,
    stateText(connection, surface.palette),
    since(connection.sinceMs),
    'revision' in connection ? connection.revision : '',
    String(tools),
    stateReason(connection),
  ])
  surface.write(
    `${table(['SERVER', 'STATE', 'SINCE', 'REVISION', 'TOOLS', 'REASON'], rows, { palette: surface.palette, columns: surface.columns() })}\n`,
  )
  return done
}

async function prompts({ client }: ChatState, surface: ChatSurface): Promise<CommandOutcome> {
  const rows = (await client.call('library.prompts', {})).map((entry) => [
    `/${oneLine(entry.command)}`,
    oneLine(entry.prompt.description ?? '', 90),
  ])
  surface.write(
    rows.length === 0
      ? 'No prompts.\n'
      : `${table(['PROMPT', 'DESCRIPTION'], rows, { palette: surface.palette, columns: surface.columns() })}\n`,
  )
  return done
}

async function resources(
  words: string[],
  { client }: ChatState,
  surface: ChatSurface,
): Promise<CommandOutcome> {
  const match = words.join(' ').toLowerCase()
  const [direct, templates] = await Promise.all([
    client.call('catalog.resources', {}),
    client.call('catalog.templates', {}),
  ])
  const rows = [
    ...direct.map(({ server, resource }) => [server, resource.uri, resource.title ?? resource.name]),
    ...templates.map(({ server, template }) => [
      server,
      template.uriTemplate,
      template.title ?? template.name,
    ]),
  ]
    .filter((row) => row.join(' ').toLowerCase().includes(match))
    .map((row) => row.map((cell) => oneLine(cell, 90)))
  surface.write(
    rows.length === 0
      ? 'No resources.\n'
      : `${table(['SERVER', 'URI', 'TITLE'], rows, { palette: surface.palette, columns: surface.columns() })}\n`,
  )
  return done
}

async function call(
  words: string[],
  state: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const [name, ...rest] = words
  const { client, conversation, leaving } = state
  const tools = await client.call('catalog.tools', {})
  const entry = tools.find((tool) => tool.name === name || `${tool.server}.${tool.tool.name}` === name)
  if (entry === undefined) throw usageError(`There is no tool "${name ?? ''}". /tools lists them.`)
  const args = argumentsFrom(rest, entry.tool.inputSchema)
  requireAll(args, entry.tool.inputSchema)
  const until = AbortSignal.any([signal, leaving])
  let shown = ''
  const { result } = await finished(
    state,
    { kind: 'call', tool: entry.name, arguments: args, conversation: conversation.id },
    until,
    {
      onRow({ progress }) {
        const line =
          progress === undefined
            ? ''
            : (notice({ type: 'progress', name: entry.tool.name, ...progress }) ?? '')
        if (line === shown) return
        shown = line
        const notes = surface.notes ?? surface
        notes.write(`${notes.palette.dim(line)}\n`)
      },
    },
  )
  showText(toolResult(result, surface.palette), surface)
  return done
}

/** Prints text from a server, indented on a terminal. */
function showText(text: string, surface: ChatSurface): void {
  const columns = surface.columns()
  surface.write(`${flowed(text, columns, columns === undefined ? 0 : 2)}\n`)
}

async function activity(
  words: string[],
  { client }: ChatState,
  surface: ChatSurface,
): Promise<CommandOutcome> {
  const [which = '20'] = words
  if (which.startsWith('#')) {
    const id = Number(which.slice(1))
    const [row] = Number.isInteger(id) && id >= 0 ? await client.call('activity.list', { id }) : []
    if (row === undefined) throw usageError(`There is no row ${which}.`)
    surface.write(`${pretty(row)}\n`)
    return done
  }
  const limit = Number(which)
  if (!Number.isInteger(limit) || limit < 1) throw usageError('Usage: /activity [count | #number]')
  const rows = await client.call('activity.list', { limit: Math.min(limit, maxActivities) })
  surface.write(`${activityTable(rows, { palette: surface.palette, columns: surface.columns() })}\n`)
  return done
}

async function remembered(
  words: string[],
  { client }: ChatState,
  surface: ChatSurface,
): Promise<CommandOutcome> {
  const [verb, id] = words
  if (verb !== undefined) {
    if (verb !== 'forget' || id === undefined) throw usageError('Usage: /remembered [forget <id>]')
    if (!(await client.call('policy.revoke', { id })))
      throw usageError(`No answer has the id "${id}". /remembered lists them.`)
    surface.write('Forgotten.\n')
    return done
  }
  const grants = await client.call('policy.grants', {})
  const rows = grants.map((grant) => [
    grant.id,
    grant.verdict,
    grant.scope,
    grant.at.slice(0, 10),
    aboutGrant(grant),
  ])
  surface.write(
    rows.length === 0
      ? 'Nothing is remembered.\n'
      : `${table(['ID', 'VERDICT', 'KEPT', 'SINCE', 'TOOL'], rows, { palette: surface.palette, columns: surface.columns() })}\n`,
  )
  return done
}

async function model(words: string[], state: ChatState, surface: ChatSurface): Promise<CommandOutcome> {
  const [wanted] = words
  const { client, conversation, env } = state
  const [found, models] = await Promise.all([findOllama(env), client.call('models.list', {})])
  const current = conversation.info.model
  if (wanted === undefined) {
    const local = (found?.models ?? []).map((name) => `ollama/${name}`)
    for (const id of new Set([current, ...models.map((one) => one.id), ...local]))
      surface.write(`${id === current ? '▸' : ' '} ${oneLine(id)}\n`)
    return done
  }
  const known = models.find((one) => one.id === wanted || one.id.endsWith(`/${wanted}`))
  const reachable = found === undefined ? env : { ...env, OLLAMA_HOST: found.host }
  const chosen = known ?? modelsInUse(reachable, wanted, [])[0]
  await client.call('conversations.setModel', { id: conversation.id, model: known?.id ?? wanted })
  surface.write(`${oneLine(chosen.id)} answers from now on.\n`)
  return done
}
