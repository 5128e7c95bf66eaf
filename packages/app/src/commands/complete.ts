import type { CompleteParams } from '@jackfield/sdk'
import { parseTextArguments } from '../cli/arguments.ts'
import { ExitCode, usageError } from '../cli/exit.ts'
import { plain } from '../output/sanitize.ts'
import { type CommandContext, connectTo } from './context.ts'

/** `jackfield complete <target> <prompt|template> <argument> <value> [key=value …]` */
export async function complete(context: CommandContext): Promise<ExitCode> {
  const { io, output } = context
  const { session, rest } = await connectTo(context)
  await using _ = session
  const [about, argument, value, ...words] = rest
  if (about === undefined || argument === undefined || value === undefined) {
    throw usageError(
      'Usage: jackfield complete <target> <prompt or template> <argument> <value> [key=value …]',
    )
  }
  const chosen = parseTextArguments(words)
  const params: CompleteParams = {
    ref:
      about.includes('{') || about.includes('://')
        ? { type: 'ref/resource', uri: about }
        : { type: 'ref/prompt', name: about },
    argument: { name: argument, value },
    ...(words.length > 0 && { context: { arguments: chosen } }),
  }
  const completion = await session.client.call(
    'catalog.complete',
    { server: session.server, params },
    { signal: io.signal },
  )
  output.result({ completion }, () => completion.values.map((entry) => plain(entry)).join('\n'))
  const more = (completion.total ?? completion.values.length) - completion.values.length
  if (more > 0) output.note(`and ${more} more`)
  else if (completion.hasMore === true) output.note('and more')
  return ExitCode.done
}
