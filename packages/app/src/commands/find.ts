import { ExitCode, usageError } from '../cli/exit.ts'
import { entryTexts } from '../output/library.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import type { CommandContext, ServerOptions } from './context.ts'
import { openServers } from './open-servers.ts'

export interface FindOptions extends ServerOptions {
  server?: string[]
  limit: number
}

/** `jackfield find <words>`: resources, templates and prompts of every configured server that fit, the best first. */
export async function find(context: CommandContext<FindOptions>): Promise<ExitCode> {
  const { words, options, output } = context
  const query = words.join(' ')
  if (query.trim() === '') throw usageError('What for? Usage: jackfield find <words...>')
  await using open = await openServers(context, ['resources', 'prompts'], options.server)
  const { host, ready } = open
  const { matches, total } = host.library.search(query, { limit: options.limit })
  output.result({ total, matches }, () => {
    if (matches.length === 0) {
      const all = host.resources().length + host.templates().length + host.prompts().length
      return `Nothing fits among ${all} of ${ready.length === 1 ? '1 server' : `${ready.length} servers`}. jackfield resources and jackfield prompts list them.`
    }
    const rows = matches.map(({ entry }) => {
      const { written, about } = entryTexts(entry)
      return [oneLine(written, 120), entry.kind, oneLine(entry.server), oneLine(about, 300)]
    })
    const shown = output.palette.dim(`${matches.length} of ${total} that fit, the best first`)
    return `${table(['FOUND', 'KIND', 'SERVER', 'DESCRIPTION'], rows, output)}\n${shown}`
  })
  return ExitCode.done
}
