import { ExitCode, usageError } from '../cli/exit.ts'
import { ownHost } from '../cli/session.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import type { CommandContext, ServerOptions } from './context.ts'
import { openServers } from './open-servers.ts'

export interface SearchOptions extends ServerOptions {
  server?: string[]
  limit: number
}

/** `jackfield search <words>`: tools of every configured server that fit, the best first. */
export async function search(context: CommandContext<SearchOptions>): Promise<ExitCode> {
  const { words, options, output } = context
  const query = words.join(' ')
  if (query.trim() === '') throw usageError('What for? Usage: jackfield search <words...>')
  await using open = await openServers(context, ['tools'], {
    own: true,
    ...(options.server !== undefined && { only: options.server }),
  })
  const { ready } = open
  const host = ownHost(open)
  const { matches, total } = host.scale.search(query, { limit: options.limit })
  const found = matches.map(({ tool: { server, tool }, score }) => ({ server, tool, score }))
  output.result({ total, matches: found }, () => {
    const { palette } = output
    if (found.length === 0) {
      const all = host.tools().length
      return `None of ${count(all, 'tool')} of ${count(ready.length, 'server')} fits. jackfield tools lists them.`
    }
    const rows = found.map(({ server, tool }) => [
      oneLine(tool.name),
      oneLine(server),
      oneLine([tool.title, tool.description].filter((part) => part !== undefined).join(': '), 300),
    ])
    const shown = palette.dim(`${found.length} of ${total} that fit, the best first`)
    return `${table(['TOOL', 'SERVER', 'DESCRIPTION'], rows, output)}\n${shown}`
  })
  return ExitCode.done
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`
}
