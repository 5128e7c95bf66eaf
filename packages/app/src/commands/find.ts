import type { ContentMatch } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import { ago } from '../output/ago.ts'
import { entryTexts } from '../output/library.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { type CommandContext, openServers, type ServerOptions } from './context.ts'

export interface FindOptions extends ServerOptions {
  server?: string[]
  limit: number
}

/** Maximum matches of one search. */
const maxMatches = 200

/** `jackfield find <words>`: searches resources (also their contents), templates and prompts of every configured server. */
export async function find(context: CommandContext<FindOptions>): Promise<ExitCode> {
  const { words, options, output } = context
  const query = words.join(' ')
  if (query.trim() === '') throw usageError('Which words? Usage: jackfield find <words...>')
  await using open = await openServers(context, ['resources', 'prompts'], {
    ...(options.server !== undefined && { only: options.server }),
  })
  const { client, ready } = open
  const limit = Math.min(options.limit, maxMatches)
  const result = await client.call('library.search', { query, limit, content: true })
  const { matches, total, contentUnavailable } = result
  if (contentUnavailable !== undefined)
    output.note(`Only names and descriptions were searched: ${contentUnavailable}.`)
  const lists = await Promise.all([
    client.call('catalog.resources', {}),
    client.call('catalog.templates', {}),
    client.call('catalog.prompts', {}),
  ])
  output.result(result, () => {
    if (matches.length === 0) {
      const all = lists.flat().length
      return `No match among ${all} of ${ready.length === 1 ? '1 server' : `${ready.length} servers`}. jackfield resources and jackfield prompts list them; the text of a resource is searched once it has been read.`
    }
    const rows = matches.map(({ entry, content }) => {
      const { written, about } = entryTexts(entry)
      const lines = [oneLine(about, 300), ...(content === undefined ? [] : [contentLine(content)])]
      return [oneLine(written, 120), entry.kind, oneLine(entry.server), lines.join('\n')]
    })
    const shown = output.palette.dim(`${matches.length} of ${total} matches, best first`)
    return `${table(['FOUND', 'KIND', 'SERVER', 'DESCRIPTION'], rows, output)}\n${shown}`
  })
  return ExitCode.done
}

/** The matching excerpt of a text, with every match in angle quotation marks, and when the text was read. */
function contentLine({ snippet, readAt }: ContentMatch): string {
  const text = snippet.map((piece) => (piece.isMatch ? `«${piece.text}»` : piece.text)).join('')
  return `read ${ago(readAt, Date.now())}: ${oneLine(text, 300)}`
}
