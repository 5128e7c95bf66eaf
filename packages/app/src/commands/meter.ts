import type { ToolMeter } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { ownHost } from '../cli/session.ts'
import { oneLine } from '../output/sanitize.ts'
import { type TableOptions, table } from '../output/table.ts'
import { type CommandContext, connectTo } from './context.ts'
import { namesNoServer } from './every-server.ts'
import { openServers } from './open-servers.ts'

const dearest = 3

/** `jackfield tools --meter`: what the definitions of the tools cost a model, by server. */
export async function meter(context: CommandContext): Promise<ExitCode> {
  const { output } = context
  if (namesNoServer(context)) {
    await using open = await openServers(context, ['tools'], { own: true })
    const all = ownHost(open).scale.meter()
    output.result(all, () => meterText(all, output))
    return ExitCode.done
  }
  const { session } = await connectTo(context, ['tools'], { own: true })
  await using _ = session
  const one = ownHost(session).scale.meter()
  output.result(one, () => meterText(one, output))
  return ExitCode.done
}

function meterText(meter: ToolMeter, look: TableOptions): string {
  const { palette } = look
  const rows = meter.servers.map(({ server, tokens, tools }) => [
    oneLine(server),
    `${tools.length}`,
    `${tokens}`,
    tools
      .slice(0, dearest)
      .map((tool) => `${oneLine(tool.name)} ${tool.tokens}`)
      .join(', '),
  ])
  rows.push(['all', `${meter.tools}`, `${meter.tokens}`, ''])
  return [
    table(['SERVER', 'TOOLS', 'TOKENS', 'LARGEST'], rows, look),
    '',
    meter.why,
    palette.dim(
      `Tokens are estimated, of a context of ${meter.contextTokens}: one for every 3.5 bytes of a definition.`,
    ),
  ].join('\n')
}
