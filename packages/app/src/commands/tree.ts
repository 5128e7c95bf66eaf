import { ExitCode } from '../cli/exit.ts'
import { libraryTree } from '../output/library.ts'
import { type CommandContext, connectTo, openServers } from './context.ts'
import { namesNoServer } from './every-server.ts'

/** `jackfield resources --tree [target]` */
export async function tree(context: CommandContext): Promise<ExitCode> {
  const { output } = context
  const open = namesNoServer(context)
    ? await openServers(context, ['resources'])
    : (await connectTo(context, ['resources'], { isLocal: true })).session
  await using _ = open
  const servers = await open.client.call('library.tree', {})
  output.result({ servers }, () =>
    servers.length === 0 ? 'No server offers resources.' : libraryTree(servers, output.palette),
  )
  return ExitCode.done
}
