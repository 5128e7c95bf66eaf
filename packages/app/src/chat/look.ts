import { age } from '../output/age.ts'
import { flowed } from '../output/flow.ts'
import { shortId, standing, whatIsAsked } from '../output/inbox.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import type { ChatFace } from './face.ts'
import type { ChatState } from './state.ts'

/** `/tools [text]`: what the model can call, and what it costs. */
export function tools(words: readonly string[], { host, talk }: ChatState, face: ChatFace): void {
  const match = words.join(' ').toLowerCase()
  const rows = host
    .tools()
    .filter(({ name, tool }) => `${name} ${tool.description ?? ''}`.toLowerCase().includes(match))
    .map(({ name, tool }) => [oneLine(name), oneLine(tool.description ?? '', 90)])
  const { contextTokens } = talk.model
  const { why } = host.scale.meter(contextTokens === undefined ? {} : { contextTokens })
  const columns = face.columns()
  if (rows.length === 0) face.write('No tools.\n')
  else face.write(`${table(['TOOL', 'DESCRIPTION'], rows, { palette: face.palette, columns })}\n`)
  face.write(`${face.palette.dim(flowed(why, columns))}\n`)
}

/** `/inbox`: questions that wait. */
export function inbox({ host }: ChatState, face: ChatFace): void {
  const items = host.inbox.list({ state: 'open' })
  if (items.length === 0) {
    face.write('No question waits.\n')
    return
  }
  const rows = items.map((item) => [
    shortId(item),
    age(item.at, Date.now()),
    oneLine(item.question.cause.server, 20),
    standing(item),
    whatIsAsked(item.question),
  ])
  const columns = face.columns()
  face.write(
    `${table(['ID', 'ASKED', 'SERVER', 'STATE', 'QUESTION'], rows, { palette: face.palette, columns })}\n`,
  )
  face.write(`${face.palette.dim('jackfield respond <id> answers one, here or in another window.')}\n`)
}
