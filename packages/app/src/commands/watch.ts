import { McpError } from '@jackfield/sdk'
import { ExitCode } from '../cli/exit.ts'
import { runOperation } from '../cli/session.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, connectTo } from './context.ts'

/** `jackfield watch <target> [uri …]`: prints changes until Ctrl+C. */
export async function watch(context: CommandContext): Promise<ExitCode> {
  const { io, output } = context
  const { session, rest } = await connectTo(context)
  await using _ = session
  const nothing = new AbortController()
  let isBegun = false
  let shown = 0
  await runOperation(
    session,
    { kind: 'watch', server: session.server, uris: rest },
    AbortSignal.any([io.signal, nothing.signal]),
    {
      onRow({ watched }) {
        if (watched === undefined) return
        if (!isBegun) {
          isBegun = true
          const names = namesOf(watched.acknowledged)
          output.note(
            names.length === 0
              ? 'The server does not report changes.'
              : `Watching ${names.join(', ')}. Ctrl+C ends it.`,
          )
          if (names.length === 0) nothing.abort()
        }
        for (const { number, at, change } of watched.changes.filter(({ number }) => number > shown)) {
          if (number > shown + 1) output.note(`! ${number - shown - 1} changes came too fast to be shown.`)
          shown = number
          const text =
            change.type === 'resource' ? `changed: ${oneLine(change.uri)}` : `list of ${change.type} changed`
          output.row({ at, ...change }, `${output.palette.dim(at)}  ${text}`)
        }
      },
    },
  )
  if (io.signal.aborted || nothing.signal.aborted) return ExitCode.done
  throw new McpError('CONNECTION_CLOSED', 'The server ended the watch.')
}

function namesOf(acknowledged: object): string[] {
  return Object.entries(acknowledged).flatMap(([name, value]: [string, unknown]) =>
    Array.isArray(value)
      ? value.map((uri) => oneLine(String(uri)))
      : value === true
        ? [name.replace('ListChanged', '')]
        : [],
  )
}
