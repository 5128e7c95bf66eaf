import type { HostQuestion } from '@jackfield/host'
import { exactJson, isUnambiguous } from '../output/exact.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

type Question = Extract<HostQuestion, { kind: 'approval' }>

/** Characters and lines of one value shown before the option to show all. */
const maxCharacters = 600
const maxLines = 16
const maxRows = 40
const maxEscapedLineFeeds = 4

const callerTexts: Readonly<Record<NonNullable<Question['cause']['caller']>, string>> = {
  chat: 'The model wants to call',
  code: 'A program of the model wants to call',
  app: 'An app wants to call',
  sampling: 'A model that answers a server wants to call',
  gateway: 'A client of this gateway wants to call',
  person: 'You want to call',
  cli: 'You want to call',
}

/** Who requests the call and why, before the arguments. */
export function approvalHeading(question: Question, palette: Palette): string[] {
  const { cause, decision, labels, origin, findings = [], problem } = question
  const { tool, server } = question.tool
  const who = cause.caller === undefined ? 'A caller wants to call' : callerTexts[cause.caller]
  const title = oneLine(tool.title ?? tool.annotations?.title ?? '', 80)
  const name = palette.bold(oneLine(tool.name))
  const named = title === '' || title === tool.name ? name : `${palette.bold(title)} (${name})`
  const hintText = hints(question)
  const author = decision.author === undefined ? '' : `, ${oneLine(decision.author)}`
  return [
    `${who} ${named} of ${palette.bold(oneLine(server))}`,
    ...(origin === undefined ? [] : [palette.dim(`  ${oneLine(server)} is ${oneLine(origin, 160)}`)]),
    ...(tool.description === undefined ? [] : [palette.dim(`  ${oneLine(tool.description, 300)}`)]),
    ...(hintText.length === 0
      ? []
      : [palette.dim(`  the server says: ${hintText.join(', ')} (not verified)`)]),
    palette.dim(`  asked because of rule: ${oneLine(decision.rule)}${author}`),
    ...(labels.length === 0
      ? []
      : [
          palette.yellow(
            `! data labelled ${labels.map((label) => oneLine(label)).join(', ')} may flow into it`,
          ),
        ]),
    ...findings.map((finding) => {
      const mark = finding.severity === 'danger' ? '✗' : '!'
      const line = `${mark} ${finding.severity}: ${oneLine(finding.message)}`
      return finding.severity === 'danger' ? palette.red(line) : palette.yellow(line)
    }),
    ...(problem === undefined ? [] : [palette.red(`✗ this could not be sent: ${oneLine(problem)}`)]),
  ]
}

function hints({ tool: { tool } }: Question): string[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations ?? {}
  return [
    ...(readOnlyHint === true ? ['only reads'] : []),
    ...(destructiveHint === true ? ['may delete or overwrite'] : []),
    ...(destructiveHint === false ? ['deletes and overwrites nothing'] : []),
    ...(idempotentHint === true ? ['repeating it has no further effect'] : []),
    ...(openWorldHint === true ? ['reaches other systems'] : []),
    ...(openWorldHint === false ? ['reaches no other systems'] : []),
  ]
}

/** The arguments, most informative first. `all` is false if something is hidden. */
export function argumentLines(
  args: Record<string, unknown>,
  palette: Palette,
): { lines: string[]; all: boolean } {
  const entries = Object.entries(args)
  if (entries.length === 0) return { lines: [palette.dim('  (no arguments)')], all: true }
  const sorted = entries
    .map(([name, value]) => ({ name, value, kind: kindOf(name, value) }))
    .toSorted((a, b) => rank(a.kind) - rank(b.kind))
  let all = sorted.length <= maxRows
  const rows = sorted.slice(0, maxRows).map(({ name, value, kind }) => {
    const shown = shownValue(value)
    all &&= shown.all
    return [argumentName(name), palette.dim(`${kind}${shown.end}`), shown.text]
  })
  const more = sorted.length > maxRows ? [palette.dim(`… and ${sorted.length - maxRows} more arguments`)] : []
  return { lines: [...table(['ARGUMENT', 'KIND', 'VALUE'], rows, { palette }).split('\n'), ...more], all }
}

type Kind = 'path' | 'address' | 'code' | 'text' | 'number' | 'yes or no' | 'nothing' | 'list' | 'object'

const order: readonly Kind[] = ['path', 'address', 'code']

function rank(kind: Kind): number {
  const place = order.indexOf(kind)
  return place === -1 ? order.length : place
}

function kindOf(name: string, value: unknown): Kind {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) {
    const kinds = new Set(value.map((item) => kindOf(name, item)))
    const [only] = kinds
    return kinds.size === 1 && (only === 'path' || only === 'address') ? only : 'list'
  }
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'yes or no'
  if (typeof value !== 'string') return 'object'
  if (/^(?:file:|~?\/|\.{1,2}\/|[a-z]:\\)/i.test(value)) return 'path'
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return 'address'
  if (/^(?:path|file|dir|folder|filename)$/i.test(name)) return 'path'
  const isCode = /(?:^|_)(?:code|script|command|cmd|sql|query|html|regex|expression)$/i.test(name)
  return isCode || value.includes('\n') ? 'code' : 'text'
}

/** Texts are printed without quotes where that is unambiguous; everything else as JSON. `end` describes trailing line feeds. */
function shownValue(value: unknown): { text: string; end: string; all: boolean } {
  const body = typeof value === 'string' ? value.replace(/\n+$/, '') : ''
  const report = isUnquoted(body)
  const whole = report ? body : exactJson(value, 2)
  const feeds = report && typeof value === 'string' ? value.length - body.length : 0
  const end =
    feeds === 0
      ? ''
      : feeds <= maxEscapedLineFeeds
        ? ` then ${'\\n'.repeat(feeds)}`
        : ` then ${feeds} times \\n`
  const cut = whole.split('\n').slice(0, maxLines).join('\n').slice(0, maxCharacters)
  if (cut.length === whole.length) return { text: whole, end, all: true }
  const counts = `${whole.length.toLocaleString('en')} characters`
  const more = `… ${(whole.length - cut.length).toLocaleString('en')} more of ${counts}`
  return { text: `${cut}\n${more}`, end: '', all: false }
}

/** Whether a text without quotes is unambiguously a text. */
function isUnquoted(text: string): boolean {
  return text !== '' && text.trim() === text && !/^["[{]/.test(text) && isUnambiguous(text)
}

function argumentName(name: string): string {
  return isUnquoted(name) && !name.includes('\n') ? name : exactJson(name)
}
