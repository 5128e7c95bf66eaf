import type { ConfigInput, HostQuestion, InboxItem } from '@jackfield/host'
import { respondCommand } from '../forms/later-choice.ts'
import { shortAge } from './ago.ts'
import { count, oneLine } from './sanitize.ts'
import { type TableOptions, table } from './table.ts'

const idLength = 8
const plainWord = /^[\w.-]{1,40}$/

/** Displayed length of an id. */
export function shortId({ id }: { id: string }): string {
  return id.slice(0, idLength)
}

/** A one-line summary of a question, safe to print. */
export function questionSummary(question: HostQuestion): string {
  switch (question.kind) {
    case 'approval':
      return oneLine(`May ${question.tool.tool.name} run?`, 100)
    case 'result':
      return oneLine(`Return the result of ${question.tool.tool.name}?`, 100)
    case 'elicitation': {
      const { params, visit } = question
      const verb = visit === undefined ? 'Visit' : 'Finished at'
      const where = params.mode === 'url' ? `${verb} ${URL.parse(params.url)?.host ?? params.url}: ` : ''
      return oneLine(`${where}${params.message}`, 100)
    }
    case 'sampling-request':
      return oneLine(`May it use ${question.choice.model}?`, 100)
    case 'sampling-result':
      return oneLine(`May it have the response of ${question.choice.model}?`, 100)
    case 'roots':
      return `May it see ${count(question.roots.length, 'folder')}?`
    case 'start':
      return oneLine(`Start it? ${question.command}`, 100)
    case 'input':
      return oneLine(`A value is needed: ${question.input.description ?? question.input.id}`, 100)
    case 'installation':
      return oneLine(`Install it? ${question.plan.command}`, 100)
    case 'drift':
      return `Accept ${count(question.changes.length, 'changed definition')}?`
    case 'login':
      return oneLine(`Sign in at ${question.issuer}?`, 100)
    case 'app':
      return oneLine(appQuestion(question), 100)
  }
}

function appQuestion({ app, wants: request }: Extract<HostQuestion, { kind: 'app' }>): string {
  switch (request.kind) {
    case 'page':
      return `Show the app ${app.uri}?`
    case 'link':
      return `Open ${request.url} for its app?`
    case 'message':
      return `Send this message of its app? ${request.text}`
    case 'context':
      return `Give your model this text of its app? ${request.text}`
    case 'download':
      return `Save ${count(request.files.length, 'file')} of its app?`
  }
}

/** Whether the value of an input is typed hidden, and not given on a command line. */
export function isSecretInput({ password = false, options }: ConfigInput): boolean {
  return password && options === undefined
}

/** Commands that answer a question, after `jackfield respond <id>`. */
export function answerCommands(question: HostQuestion): string[] {
  switch (question.kind) {
    case 'elicitation': {
      const { params } = question
      const fields = params.mode === 'url' ? [] : Object.keys(params.requestedSchema.properties)
      // Users copy this line, so it has no name that a shell would interpret.
      const words = fields.map((field) => ` ${plainWord.test(field) ? field : '…'}=…`).join('')
      return [`--accept${words}`, '--decline', '--cancel']
    }
    case 'input':
      return [isSecretInput(question.input) ? '--accept' : '--accept value=…', '--deny']
    case 'approval':
      return ["--allow [--args '{…}']", '--deny']
    default:
      return ['--allow', '--deny']
  }
}

/** Whether a program waits, answering continues the call, or what happened to the question. */
export function questionState({ state, waits, resumable }: InboxItem): string {
  if (state !== 'open') return state
  if (waits) return 'waits'
  return resumable ? 'suspended' : 'open'
}

/** Questions, oldest first, with their count and what to do next. */
export function inboxTable(
  items: readonly InboxItem[],
  options: TableOptions,
  now: number,
  store?: string,
): string {
  const rows = items.map((item) => [
    shortId(item),
    shortAge(item.at, now),
    oneLine(item.question.cause.server, 30),
    item.question.kind,
    questionState(item),
    questionSummary(item.question),
  ])
  const open = items.filter(({ state }) => state === 'open')
  const suspended = open.filter(({ waits }) => !waits).length
  const counts = `${count(open.length, 'question')} open: ${open.length - suspended} with a program that waits, ${suspended} suspended.`
  const mayBeRejected =
    suspended === 0
      ? ''
      : '\nA server that ended with the program that asked may reject the answer; the call is then made again.'
  const next = open.length === 0 ? '' : ` Answer one with: ${respondCommand('<id>', store)}`
  return `${table(['ID', 'ASKED', 'SERVER', 'KIND', 'STATE', 'WHAT'], rows, options)}\n${options.palette.dim(counts + next + mayBeRejected)}`
}
