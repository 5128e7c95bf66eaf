import { ExitCode, usageError } from '../cli/exit.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { type CommandContext, openServers, type ServerOptions } from './context.ts'

export interface SearchOptions extends ServerOptions {
  server?: string[]
  limit: number
}

/** Maximum results of one search. */
const maxResults = 1_000

/** `jackfield search <words>`: matching tools of every configured server, best first. */
export async function search(context: CommandContext<SearchOptions>): Promise<ExitCode> {
  const { words, options, output } = context
  const query = words.join(' ')
  if (query.trim() === '') throw usageError('Which words? Usage: jackfield search <words...>')
  await using open = await openServers(context, ['tools'], {
    ...(options.server !== undefined && { only: options.server }),
  })
  const { client, ready } = open
  const limit = Math.min(options.limit, maxResults)
  const { matches, total } = await client.call('catalog.searchTools', { query, limit })
  const all = (await client.call('catalog.tools', {})).length
  const ranked = matches.map(({ tool: { server, tool }, score }) => ({ server, tool, score }))
  output.result({ total, matches: ranked }, () => {
    const { palette } = output
    if (ranked.length === 0) {
      return `None of ${count(all, 'tool')} of ${count(ready.length, 'server')} matches. jackfield tools lists them.`
    }
    const rows = ranked.map(({ server, tool }) => [
      oneLine(tool.name),
      oneLine(server),
      oneLine([tool.title, tool.description].filter((part) => part !== undefined).join(': '), 300),
    ])
    const shown = palette.dim(`${ranked.length} of ${total} matches, best first`)
    return `${table(['TOOL', 'SERVER', 'DESCRIPTION'], rows, output)}\n${shown}`
  })
  return ExitCode.done
}
