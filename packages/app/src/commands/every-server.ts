import type { Host, HostConnectOptions } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import type { CommandContext } from './context.ts'
import { openServers } from './open-servers.ts'

/** How a list is shown. */
export interface Look {
  palette: Palette
  columns: number | undefined
}

/** A list every server has one of. */
export interface ServerLists {
  lists: NonNullable<HostConnectOptions['lists']>
  of(host: Host, server: string, look: Look): { result: object; text: string }
}

/** Whether a command line names neither a server nor a command that starts one. */
export function namesNoServer({ words, command }: CommandContext): boolean {
  return words.length === 0 && command === undefined
}

/** Shows a list of every configured server; those that cannot be reached are told of beside it. */
export async function everyServer(context: CommandContext, shown: ServerLists): Promise<ExitCode> {
  const { output } = context
  await using open = await openServers(context, shown.lists)
  const found = open.ready.map((server) => [server, shown.of(open.host, server, output)] as const)
  output.result(Object.fromEntries(found.map(([server, { result }]) => [server, result])), () =>
    found.map(([server, { text }]) => `${output.palette.bold(oneLine(server))}\n${text}`).join('\n\n'),
  )
  return ExitCode.done
}
