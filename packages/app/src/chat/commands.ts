import { findOllama } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import type { SamplingMessage } from '@jackfield/sdk'
import { parseArguments, requireArguments } from '../cli/arguments.ts'
import { usageError } from '../cli/exit.ts'
import { modelsInUse } from '../cli/models.ts'
import { runOperation } from '../cli/session.ts'
import { activityTable } from '../output/activity.ts'
import { since, stateReason, stateText } from '../output/connection.ts'
import { prettyJson, toolResult } from '../output/content.ts'
import { wrapText } from '../output/flow.ts'
import { grantText } from '../output/rules.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { attachCommand } from './attach-command.ts'
import { detach, listAttached } from './attachments.ts'
import { showContext } from './context.ts'
import {
  compactConversation,
  forkConversation,
  resumeConversation,
  saveConversation,
  showTitle,
  startConversation,
} from './conversations.ts'
import { respondTo, runRootsVerb, showInbox, showMessageLog, showTools } from './inspect.ts'
import { noticeText } from './notices.ts'
import { usePrompt } from './prompt.ts'
import { showCall } from './show.ts'
import type { ChatState } from './state.ts'
import { type ChatSurface, writeIndented } from './surface.ts'

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

const doneOutcome: CommandOutcome = { kind: 'done' }

const maxActivities = 100_000

/** A command without a result. */
function withoutOutcome(
  work: (words: string[], state: ChatState, surface: ChatSurface, signal: AbortSignal) => unknown,
): ChatCommand['run'] {
  return async (...given) => {
    await work(...given)
    return doneOutcome
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
    run: withoutOutcome(showTools),
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
    run: withoutOutcome(attachCommand),
  },
  attached: {
    usage: '/attached [number]',
    help: 'list attached resources and whether they changed; /attach again [number] attaches the current version',
    run: withoutOutcome(listAttached),
  },
  detach: {
    usage: '/detach <number | all>',
    help: 'remove attached resources; /attached shows their numbers',
    run: withoutOutcome(detach),
  },
  roots: {
    usage: '/roots [add <folder> | allow <server> | …]',
    help: 'show the folders that each server may see; add, remove, exclude, include, preview, allow, deny and forget as in jackfield roots',
    run: withoutOutcome(runRootsVerb),
  },
  context: {
    usage: '/context [on | off]',
    help: 'show the resources included automatically because servers mark them for a model; off excludes them',
    run: withoutOutcome(showContext),
  },
  show: {
    usage: '/show [number] [--all]',
    help: 'show the arguments and result of a tool call, by default the last; --output-file <file> and --save-media <folder> write it',
    run: withoutOutcome(showCall),
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
    run: withoutOutcome(showMessageLog),
  },
  inbox: {
    usage: '/inbox',
    help: 'list open questions, including deferred ones',
    run: withoutOutcome((_, state, surface) => showInbox(state, surface)),
  },
  respond: {
    usage: '/respond <id>',
    help: 'answer a question in the inbox and continue its call',
    run: withoutOutcome(respondTo),
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
    run: withoutOutcome(resumeConversation),
  },
  new: {
    usage: '/new',
    help: 'start a new conversation',
    run: withoutOutcome((_, state, surface) => startConversation(state, surface)),
  },
  fork: {
    usage: '/fork [turns]',
    help: 'continue in a copy of this conversation, without its last turns',
    run: withoutOutcome(forkConversation),
  },
  compact: {
    usage: '/compact [summary]',
    help: 'replace the messages so far with a summary that you review first',
    run: withoutOutcome(compactConversation),
  },
  title: {
    usage: '/title [words]',
    help: 'show or change the title of this conversation',
    run: withoutOutcome(showTitle),
  },
  save: {
    usage: '/save <file>',
    help: 'save the conversation to a file, as Markdown or JSON (.json)',
    run: withoutOutcome(saveConversation),
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
  surface.write(`${surface.palette.dim(wrapText(keys, options.columns))}\n`)
  return doneOutcome
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
  return doneOutcome
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
  return doneOutcome
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
  return doneOutcome
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
  const args = parseArguments(rest, entry.tool.inputSchema)
  requireArguments(args, entry.tool.inputSchema)
  const stopSignal = AbortSignal.any([signal, leaving])
  let shown = ''
  const { result } = await runOperation(
    state,
    { kind: 'call', tool: entry.name, arguments: args, conversation: conversation.id },
    stopSignal,
    {
      onRow({ progress }) {
        const line =
          progress === undefined
            ? ''
            : (noticeText({ type: 'progress', name: entry.tool.name, ...progress }) ?? '')
        if (line === shown) return
        shown = line
        const notes = surface.notes ?? surface
        notes.write(`${notes.palette.dim(line)}\n`)
      },
    },
  )
  writeIndented(toolResult(result, surface.palette), surface)
  return doneOutcome
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
    surface.write(`${prettyJson(row)}\n`)
    return doneOutcome
  }
  const limit = Number(which)
  if (!Number.isInteger(limit) || limit < 1) throw usageError('Usage: /activity [count | #number]')
  const rows = await client.call('activity.list', { limit: Math.min(limit, maxActivities) })
  surface.write(`${activityTable(rows, { palette: surface.palette, columns: surface.columns() })}\n`)
  return doneOutcome
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
    return doneOutcome
  }
  const grants = await client.call('policy.grants', {})
  const rows = grants.map((grant) => [
    grant.id,
    grant.verdict,
    grant.scope,
    grant.at.slice(0, 10),
    grantText(grant),
  ])
  surface.write(
    rows.length === 0
      ? 'No decisions are remembered.\n'
      : `${table(['ID', 'VERDICT', 'KEPT', 'SINCE', 'TOOL'], rows, { palette: surface.palette, columns: surface.columns() })}\n`,
  )
  return doneOutcome
}

async function model(words: string[], state: ChatState, surface: ChatSurface): Promise<CommandOutcome> {
  const [requested] = words
  const { client, conversation, env } = state
  const [ollama, models] = await Promise.all([findOllama(env), client.call('models.list', {})])
  const current = conversation.info.model
  if (requested === undefined) {
    const local = (ollama?.models ?? []).map((name) => `ollama/${name}`)
    for (const id of new Set([current, ...models.map((one) => one.id), ...local]))
      surface.write(`${id === current ? '▸' : ' '} ${oneLine(id)}\n`)
    return doneOutcome
  }
  const known = models.find((one) => one.id === requested || one.id.endsWith(`/${requested}`))
  const reachable = ollama === undefined ? env : { ...env, OLLAMA_HOST: ollama.host }
  const chosen = known ?? modelsInUse(reachable, requested, [])[0]
  await client.call('conversations.setModel', { id: conversation.id, model: known?.id ?? requested })
  surface.write(`The model is now ${oneLine(chosen.id)}.\n`)
  return doneOutcome
}
