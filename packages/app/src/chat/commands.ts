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
  help: { usage: '/help', help: 'show this list', run: (_, state, surface) => help(state, surface) },
  servers: {
    usage: '/servers',
    help: 'show the state of each server',
    run: (_, state, surface) => servers(state, surface),
  },
  tools: {
    usage: '/tools [text | on <name> | off <name>]',
    help: 'list the tools of the model and their token cost; /tools off removes servers, server.tool or patterns with * for this conversation',
    run: plainly(tools),
  },
  prompts: {
    usage: '/prompts',
    help: 'list prompts',
    run: (_, state, surface) => prompts(state, surface),
  },
  resources: {
    usage: '/resources [text]',
    help: 'list resources',
    run: (words, state, surface) => resources(words, state, surface),
  },
  attach: {
    usage: '/attach [words | <server> <uri>]',
    help: 'attach resources to your next message; @server:uri in a message does the same',
    run: plainly(attachCommand),
  },
  attached: {
    usage: '/attached [number]',
    help: 'list attached resources and whether they changed; /attach again [number] attaches the current version',
    run: plainly(attached),
  },
  detach: {
    usage: '/detach <number | all>',
    help: 'remove attached resources; /attached shows their numbers',
    run: plainly(detach),
  },
  roots: {
    usage: '/roots [add <folder> | allow <server> | …]',
    help: 'show the folders that each server may see; add, remove, exclude, include, preview, allow, deny and forget as in jackfield roots',
    run: plainly(roots),
  },
  context: {
    usage: '/context [on | off]',
    help: 'show the resources included automatically because servers mark them for a model; off excludes them',
    run: plainly(showContext),
  },
  show: {
    usage: '/show [number] [--all]',
    help: 'show the arguments and result of a tool call, by default the last; --output-file <file> and --save-media <folder> write it',
    run: plainly(show),
  },
  call: { usage: '/call <tool> [key=value …]', help: 'call a tool', run: call },
  activity: {
    usage: '/activity [count | #number]',
    help: 'show the activity log, newest last; #number shows one row in full',
    run: (words, state, surface) => activity(words, state, surface),
  },
  log: {
    usage: '/log [view] [filter | #number]',
    help: 'show the message log, as in jackfield log; views are --tree, --timeline, --stats and --raw',
    run: plainly(log),
  },
  inbox: {
    usage: '/inbox',
    help: 'list open questions, including deferred ones',
    run: plainly((_, state, surface) => inbox(state, surface)),
  },
  respond: {
    usage: '/respond <id>',
    help: 'answer a question in the inbox and continue its call',
    run: plainly(respond),
  },
  remembered: {
    usage: '/remembered [forget <id>]',
    help: 'list remembered decisions about tools; forget one to be asked again',
    run: (words, state, surface) => remembered(words, state, surface),
  },
  model: {
    usage: '/model [name]',
    help: 'show or change the model',
    run: (words, state, surface) => model(words, state, surface),
  },
  resume: {
    usage: '/resume [id or words]',
    help: 'list stored conversations, or continue one',
    run: plainly(resume),
  },
  new: {
    usage: '/new',
    help: 'start a new conversation',
    run: plainly((_, state, surface) => begin(state, surface)),
  },
  fork: {
    usage: '/fork [turns]',
    help: 'continue in a copy of this conversation, without its last turns',
    run: plainly(fork),
  },
  compact: {
    usage: '/compact [summary]',
    help: 'replace the messages so far with a summary that you review first',
    run: plainly(compact),
  },
  title: {
    usage: '/title [words]',
    help: 'show or change the title of this conversation',
    run: plainly(title),
  },
  save: {
    usage: '/save <file>',
    help: 'save the conversation to a file, as Markdown or JSON (.json)',
    run: plainly(save),
  },
  quit: { usage: '/quit', help: 'quit (or Ctrl+D)', run: () => ({ kind: 'leave' }) },
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
  throw usageError(`There is no command /${name}. /help lists all commands.`)
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
    'Ctrl+C stops the running turn. Tab completes; Up and Ctrl+R search earlier input. Alt+Enter, Ctrl+J, or \\ before Enter inserts a line break. Messages sent during an answer are queued. A question that appears while you type accepts no keys until you pause for a second. All other input goes to the model.'
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
      throw usageError(`No remembered decision has the id "${id}". /remembered lists them.`)
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
      ? 'No decisions are remembered.\n'
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
  surface.write(`The model is now ${oneLine(chosen.id)}.\n`)
  return done
}
