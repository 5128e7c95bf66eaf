import type { Host, InboxItem } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { storeFile } from '../cli/store.ts'
import { readLayers } from '../cli/target.ts'
import { storeHost } from '../daemon/service.ts'
import { respondCommand } from '../forms/later-choice.ts'
import { shortAge } from '../output/ago.ts'
import { prettyJson } from '../output/content.ts'
import { answerCommands, inboxTable, questionState, questionSummary } from '../output/inbox.ts'
import { oneLine } from '../output/sanitize.ts'

export interface InboxOptions {
  all?: boolean
  server?: string
  store?: string
  json?: boolean
}

/** `jackfield inbox [id]`: lists the open questions, or shows one in full. */
export async function inbox(
  id: string | undefined,
  options: InboxOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const store = storeFile(options.store, io)
  await using host = storeHost(store)
  if (id !== undefined) {
    const item = itemOf(host.inbox.list({ state: 'all' }), id)
    output.result(jsonOf(item), () => questionDetails(item, options.store))
    return ExitCode.done
  }
  const { server } = options
  const items = host.inbox.list({
    ...(options.all === true && { state: 'all' }),
    ...(server !== undefined && { server }),
  })
  if (server !== undefined && items.length === 0) await refuseUnknownServer(server, host, io)
  output.result({ store, questions: items.map(jsonOf) }, () => {
    const heading = output.palette.dim(store)
    if (items.length > 0) return `${heading}\n${inboxTable(items, output, Date.now(), options.store)}`
    return `${heading}\nNo open questions.${options.all === true ? '' : ' jackfield inbox --all shows those that were answered.'}`
  })
  return ExitCode.done
}

/** Throws a usage error for a server that is not configured and has no questions. */
async function refuseUnknownServer(server: string, host: Host, io: Io): Promise<void> {
  const { servers } = await readLayers({}, io)
  const asked = host.inbox.list({ state: 'all' }).map(({ question }) => question.cause.server)
  const known = [...new Set([...Object.keys(servers), ...asked])].sort()
  if (known.includes(server)) return
  const has = known.length === 0 ? 'No server is known' : `Known servers: ${oneLine(known.join(', '), 400)}`
  throw usageError(
    `There is no server "${oneLine(server)}". ${has}. jackfield inbox lists the questions of all.`,
  )
}

/** The question with this id prefix. Throws a usage error if none or several match. */
export function itemOf(all: readonly InboxItem[], id: string): InboxItem {
  const items = all.filter((item) => item.id.startsWith(id))
  const [item] = items
  if (item === undefined || id === '') {
    throw usageError(
      `No question has an id that begins with "${oneLine(id)}". jackfield inbox --all lists them.`,
    )
  }
  if (items.length > 1) {
    throw usageError(`${items.length} questions have ids that begin with "${oneLine(id)}". Write more of it.`)
  }
  return item
}

/** An item with the texts of the table. */
function jsonOf(item: InboxItem): object {
  const { question } = item
  return {
    ...item,
    server: question.cause.server,
    kind: question.kind,
    state: questionState(item),
    what: questionSummary(question),
  }
}

function questionDetails(item: InboxItem, store: string | undefined): string {
  const { question, answer, reason } = item
  const { server, tool, caller } = question.cause
  const facts = [
    ['question', item.id],
    ['asked', `${shortAge(item.at, Date.now())} (${item.at})`],
    [
      'by',
      [
        server,
        ...(tool === undefined ? [] : [`its tool ${tool}`]),
        ...(caller ? [`called by ${caller}`] : []),
      ].join(', '),
    ],
    ['state', `${questionState(item)}${reason === undefined ? '' : `: ${reason}`}`],
    ...(answer === undefined ? [] : [['answered', `by ${answer.by} at ${answer.at}`]]),
    ['what', questionSummary(question)],
  ]
  const lines = facts.map(([name = '', value = '']) => `${name.padEnd(10)}${oneLine(value)}`)
  const ways =
    item.state === 'open'
      ? answerCommands(question).map((way) => `${respondCommand(item.id, store)} ${way}`)
      : []
  return [...lines, '', prettyJson(question), ...(ways.length === 0 ? [] : ['', ...ways])].join('\n')
}
