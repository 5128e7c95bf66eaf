import type { HostConnectOptions, ServerTrust, TrustItem } from '@jackfield/host'
import { CliError, ExitCode } from '../cli/exit.ts'
import { type Catalog, catalogOf } from '../cli/session.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, openServers } from './context.ts'
import { refuseEmptyList } from './trust.ts'

/** How a list is displayed. */
export interface Appearance {
  palette: Palette
  columns: number | undefined
}

/** A list that every server has. */
export interface ServerLists {
  lists: NonNullable<HostConnectOptions['lists']>
  /** The kind of its items, as in the trust store. */
  kinds: readonly TrustItem['what'][]
  isEmpty(catalog: Catalog): boolean
  format(catalog: Catalog, trust: ServerTrust, appearance: Appearance): { result: object; text: string }
}

/** Whether a command line names neither a server nor a command that starts one. */
export function namesNoServer({ words, command }: CommandContext): boolean {
  return words.length === 0 && command === undefined
}

/** Shows a list of every configured server; servers that cannot be reached are reported on stderr. */
export async function showEveryServer(context: CommandContext, serverLists: ServerLists): Promise<ExitCode> {
  const { output } = context
  await using open = await openServers(context, serverLists.lists)
  let code: ExitCode = ExitCode.done
  const servers = await Promise.all(
    open.ready.map(async (server) => ({
      server,
      catalog: await catalogOf(open.client, server, serverLists.lists),
      trust: await open.client.call('trust.get', { server }),
    })),
  )
  const listings = servers.map(
    ({ server, catalog, trust }) => [server, serverLists.format(catalog, trust, output)] as const,
  )
  output.result(Object.fromEntries(listings.map(([server, { result }]) => [server, result])), () =>
    listings.map(([server, { text }]) => `${output.palette.bold(oneLine(server))}\n${text}`).join('\n\n'),
  )
  for (const { server, catalog, trust } of servers) {
    try {
      if (serverLists.isEmpty(catalog)) refuseEmptyList({ trust, server }, serverLists.kinds)
    } catch (error) {
      if (!(error instanceof CliError)) throw error
      output.note(`! ${error.message}`)
      code = error.exitCode
    }
  }
  return code
}
