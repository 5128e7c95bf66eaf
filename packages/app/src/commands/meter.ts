import type { ToolMeter } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { oneLine } from '../output/sanitize.ts'
import { type TableOptions, table } from '../output/table.ts'
import { type CommandContext, connectTo, openServers } from './context.ts'
import { namesNoServer } from './every-server.ts'

const maxToolsListed = 3

/** `jackfield tools --meter`: the token cost of the tool definitions, by server. */
export async function meter(context: CommandContext): Promise<ExitCode> {
  const { output } = context
  // For one server, only its own tools count, as in a conversation without other servers.
  const open = namesNoServer(context)
    ? await openServers(context, ['tools'])
    : (await connectTo(context, ['tools'], { isLocal: true })).session
  await using _ = open
  const cost = await open.client.call('catalog.meter', {})
  output.result(cost, () => meterText(cost, output))
  return ExitCode.done
}

function meterText(meter: ToolMeter, options: TableOptions): string {
  const { palette } = options
  const rows = meter.servers.map(({ server, tokens, tools }) => [
    oneLine(server),
    `${tools.length}`,
    `${tokens}`,
    tools
      .slice(0, maxToolsListed)
      .map((tool) => `${oneLine(tool.name)} ${tool.tokens}`)
      .join(', '),
  ])
  rows.push(['all', `${meter.tools}`, `${meter.tokens}`, ''])
  return [
    table(['SERVER', 'TOOLS', 'TOKENS', 'LARGEST'], rows, options),
    '',
    meter.reason,
    palette.dim(
      `Tokens are estimated at one per 3.5 bytes of a definition, in a context of ${meter.contextTokens}.`,
    ),
  ].join('\n')
}
