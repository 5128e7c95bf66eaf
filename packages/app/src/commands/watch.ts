import { McpError } from '@jackfield/sdk'
import { ExitCode } from '../cli/exit.ts'
import { ownHost } from '../cli/session.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, connectTo } from './context.ts'

/** `jackfield watch <target> [uri …]`: tells of changes until Ctrl+C. */
export async function watch(context: CommandContext): Promise<ExitCode> {
  const { io, output } = context
  const { session, rest } = await connectTo(context, [], { own: true })
  await using _ = session
  const watching = await ownHost(session).watch(session.server, rest, (change) => {
    const at = new Date().toISOString()
    const text =
      change.type === 'resource' ? `changed: ${oneLine(change.uri)}` : `list of ${change.type} changed`
    output.row({ at, ...change }, `${output.palette.dim(at)}  ${text}`)
  })
  const acknowledged = Object.entries(watching.acknowledged).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((uri) => oneLine(String(uri)))
      : value === true
        ? [name.replace('ListChanged', '')]
        : [],
  )
  output.note(
    acknowledged.length === 0
      ? 'The server does not report changes.'
      : `Watching ${acknowledged.join(', ')}. Ctrl+C ends it.`,
  )
  if (acknowledged.length === 0) return ExitCode.done
  const interrupted = new Promise<'interrupted'>((resolve) => {
    if (io.signal.aborted) resolve('interrupted')
    io.signal.addEventListener('abort', () => resolve('interrupted'), { once: true })
  })
  if ((await Promise.race([interrupted, watching.closed])) === 'interrupted') return ExitCode.done
  throw new McpError('CONNECTION_CLOSED', 'The server ended the watch.')
}
