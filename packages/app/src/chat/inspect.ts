import { showQuestion } from '@jackfield/host'
import { usageError } from '../cli/exit.ts'
import { itemOf } from '../commands/inbox.ts'
import { showLog } from '../commands/log.ts'
import { rootsVerbs } from '../commands/roots.ts'
import { respondCommand } from '../forms/later-choice.ts'
import { shortAge } from '../output/ago.ts'
import { toolResult } from '../output/content.ts'
import { wrapText } from '../output/flow.ts'
import { answerCommands, questionState, questionSummary, shortId } from '../output/inbox.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import type { ChatState } from './state.ts'
import { type ChatSurface, writeIndented } from './surface.ts'

/** `/tools [text]`: the tools offered to the model and their token cost; `/tools on|off <name…>` changes the selection. */
export async function showTools(
  words: readonly string[],
  state: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const [verb, ...names] = words
  if (verb === 'on' || verb === 'off') {
    await switchTools(verb === 'on', names, state, surface)
    return
  }
  const { client, conversation } = state
  const { palette } = surface
  const match = words.join(' ').toLowerCase()
  const all = await client.call('catalog.tools', {})
  const off = all.filter((tool) => !conversation.isToolOn(tool))
  const rows = all
    .filter(({ name, server, tool }) =>
      `${name} ${server}.${tool.name} ${tool.description ?? ''}`.toLowerCase().includes(match),
    )
    .map((entry) => [
      oneLine(entry.name),
      ...(off.length === 0 ? [] : [!conversation.isToolOn(entry) ? palette.yellow('off') : 'on']),
      oneLine(entry.tool.description ?? '', 90),
    ])
  const { contextLimit } = conversation.info
  const { reason: explanation } = await client.call('catalog.meter', {
    conversation: conversation.id,
    ...(contextLimit !== undefined && { contextTokens: contextLimit }),
  })
  const columns = surface.columns()
  const headings = ['TOOL', ...(off.length === 0 ? [] : ['STATE']), 'DESCRIPTION']
  if (rows.length === 0) surface.write('No tools.\n')
  else surface.write(`${table(headings, rows, { palette, columns })}\n`)
  const switched =
    off.length === 0
      ? ''
      : ` ${off.length} of ${all.length} tools ${off.length === 1 ? 'is' : 'are'} off in this conversation; /tools on <name> offers them again.`
  surface.write(`${palette.dim(wrapText(`${explanation}${switched}`, columns))}\n`)
}

/** Tool names printed after a change of the selection. */
const maxNamed = 8

async function switchTools(
  on: boolean,
  names: readonly string[],
  { client, conversation }: ChatState,
  surface: ChatSurface,
): Promise<void> {
  if (names.length === 0)
    throw usageError(`Usage: /tools ${on ? 'on' : 'off'} <server | server.tool | pattern with *> …`)
  const before = (await client.call('catalog.tools', {})).filter((tool) => conversation.isToolOn(tool) !== on)
  await client.call('conversations.switchTools', { id: conversation.id, on, patterns: [...names] })
  const changed = before
    .filter((tool) => conversation.isToolOn(tool) === on)
    .map(({ name }) => oneLine(name, 60))
  const more = changed.length > maxNamed ? ` and ${changed.length - maxNamed} more` : ''
  const effect = on ? 'The model is offered' : 'The model is no longer offered'
  const line =
    changed.length === 0
      ? `No tool changed: all matching tools are ${on ? 'on' : 'off'} already.`
      : `${effect} ${changed.slice(0, maxNamed).join(', ')}${more} in this conversation.`
  surface.write(`${wrapText(line, surface.columns(), 0, 2)}\n`)
}

/** `/inbox`: lists open questions. */
export async function showInbox({ client, store }: ChatState, surface: ChatSurface): Promise<void> {
  const items = await client.call('inbox.list', { state: 'open' })
  if (items.length === 0) {
    surface.write('No open questions.\n')
    return
  }
  const rows = items.map((item) => [
    shortId(item),
    shortAge(item.at, Date.now()),
    oneLine(item.question.cause.server, 20),
    questionState(item),
    questionSummary(item.question),
  ])
  const columns = surface.columns()
  surface.write(
    `${table(['ID', 'ASKED', 'SERVER', 'STATE', 'QUESTION'], rows, { palette: surface.palette, columns })}\n`,
  )
  surface.write(
    `${surface.palette.dim(`/respond <id> answers one here, ${respondCommand('<id>', store)} in another window.`)}\n`,
  )
}

/** `/respond <id>`: asks a question of the inbox again; if its program has ended, the call continues here. */
export async function respondTo(
  [id, ...more]: readonly string[],
  { client, person, store }: ChatState,
  surface: ChatSurface,
  signal: AbortSignal,
): Promise<void> {
  if (id === undefined || more.length > 0)
    throw usageError('Usage: /respond <id>. /inbox lists open questions.')
  const item = itemOf(await client.call('inbox.list', { state: 'all' }), id)
  if (item.state !== 'open') {
    throw usageError(
      `Question ${shortId(item)} is ${item.state}${item.reason === undefined ? '' : `: ${oneLine(item.reason)}`}.`,
    )
  }
  if (person === undefined) {
    const ways = answerCommands(item.question).map((way) => `  ${respondCommand(item.id, store)} ${way}`)
    throw usageError(`No person can be asked here. Answer it in another window:\n${ways.join('\n')}`)
  }
  const answer = await showQuestion(person, item.question, signal)
  if (answer === undefined) return
  await client.call('inbox.answer', { id: item.id, answer })
  const call = await client.call('inbox.resumed', { id: item.id }, { signal })
  if (call === null) {
    surface.write(`${surface.palette.dim('Answered. The call continues.')}\n`)
    return
  }
  writeIndented(toolResult(call.result, surface.palette), surface)
}

const views = ['tree', 'timeline', 'stats', 'raw'] as const
/** Log rows shown at once. */
const rowsShown = 40

/** `/log`: the message log, as in `jackfield log`. */
export async function showMessageLog(
  words: readonly string[],
  { client }: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const chosenViews = views.filter((view) => words.includes(`--${view}`))
  const rest = words.filter((word) => !views.some((view) => word === `--${view}`))
  const write = (text: string): void => surface.write(`${text}\n`)
  const columns = surface.columns()
  const shown = Object.fromEntries(chosenViews.map((view) => [view, true]))
  const limit = chosenViews.includes('stats') ? {} : { limit: chosenViews.includes('raw') ? 10 : rowsShown }
  await showLog(
    client,
    rest,
    { ...shown, ...limit },
    {
      json: false,
      palette: surface.palette,
      columns,
      result: (_, text) => write(text()),
      row: (_, text) => write(text),
      note: write,
    },
  )
}

/** `/roots [verb …]`: the folders visible to servers, as in `jackfield roots`. */
export async function runRootsVerb(
  [verb = 'show', ...words]: readonly string[],
  { client, servers, cwd }: ChatState,
  surface: ChatSurface,
): Promise<void> {
  const output = {
    palette: surface.palette,
    columns: surface.columns(),
    result: (_: unknown, text: () => string) => surface.write(`${text()}\n`),
  }
  if (!isRootsVerb(verb)) throw usageError(`"${oneLine(verb, 60)}" is unknown. Usage: ${rootsUsage}`)
  await rootsVerbs[verb](words, { client, servers, io: { cwd }, output, options: {} })
}

const rootsUsage = `/roots [${Object.keys(rootsVerbs)
  .filter((verb) => verb !== 'show')
  .join(' | ')}] …`

function isRootsVerb(verb: string): verb is keyof typeof rootsVerbs {
  return Object.hasOwn(rootsVerbs, verb)
}
