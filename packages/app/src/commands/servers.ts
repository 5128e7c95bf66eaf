import { createHost } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { readConfig } from '../cli/target.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface ServersOptions {
  config?: string
  json?: boolean
}

/** `jackfield servers`: connects every configured server and says how each stands. */
export async function servers(options: ServersOptions, io: Io, output: Output): Promise<ExitCode> {
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  await using host = createHost({
    servers: config.servers,
    models: [],
    ...config.limits,
  })
  await host.start()
  io.signal.throwIfAborted()
  const list = [...host.connections].map(([name, connection]) => ({
    name,
    ...connection,
    tools: host.tools().filter((tool) => tool.server === name).length,
    resources: host.resources().filter((entry) => entry.server === name).length,
    templates: host.templates().filter((entry) => entry.server === name).length,
    prompts: host.prompts().filter((entry) => entry.server === name).length,
  }))
  const failed = list.some((entry) => entry.state === 'failed')
  output.result({ config: file, servers: list }, () => {
    const { palette } = output
    const rows = list.map((entry) => [
      oneLine(entry.name),
      entry.state,
      'revision' in entry ? entry.revision : '',
      `${entry.tools}`,
      `${entry.resources}+${entry.templates}`,
      `${entry.prompts}`,
      'reason' in entry ? oneLine(entry.reason) : '',
    ])
    const heading = palette.dim(file)
    if (rows.length === 0) return `${heading}\nIt names no servers.`
    return `${heading}\n${table(['SERVER', 'STATE', 'REVISION', 'TOOLS', 'RESOURCES', 'PROMPTS', 'REASON'], rows, output)}`
  })
  return failed ? ExitCode.cannotConnect : ExitCode.done
}
