import type { Host, HostConnectOptions, TrustItem } from '@jackfield/host'
import { CliError, ExitCode } from '../cli/exit.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import type { CommandContext } from './context.ts'
import { openServers } from './open-servers.ts'
import { refuseEmptyList } from './trust.ts'

/** How a list is shown. */
export interface Look {
  palette: Palette
  columns: number | undefined
}

/** A list every server has one of. */
export interface ServerLists {
  lists: NonNullable<HostConnectOptions['lists']>
  /** What the list holds, by the words of the trust store. */
  kinds: readonly TrustItem['what'][]
  isEmpty(host: Host, server: string): boolean
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
  let code: ExitCode = ExitCode.done
  const found = open.ready.map((server) => [server, shown.of(open.host, server, output)] as const)
  output.result(Object.fromEntries(found.map(([server, { result }]) => [server, result])), () =>
    found.map(([server, { text }]) => `${output.palette.bold(oneLine(server))}\n${text}`).join('\n\n'),
  )
  for (const server of open.ready) {
    try {
      if (shown.isEmpty(open.host, server))
        refuseEmptyList({ trust: open.host.trust.server(server), server }, shown.kinds)
    } catch (error) {
      if (!(error instanceof CliError)) throw error
      output.note(`! ${error.message}`)
      code = error.exitCode
    }
  }
  return code
}
