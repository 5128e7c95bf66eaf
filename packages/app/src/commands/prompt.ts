import { textArguments } from '../cli/arguments.ts'
import { ExitCode, usageError } from '../cli/exit.ts'
import { promptResult } from '../output/content.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, connectTo } from './context.ts'
import { found, promptsOf } from './list.ts'

/** `jackfield prompt <target> <name> [key=value …]` */
export async function prompt(context: CommandContext): Promise<ExitCode> {
  const { io, output } = context
  const { session, rest } = await connectTo(context)
  await using _ = session
  const [name, ...words] = rest
  if (name === undefined)
    throw usageError('Which prompt? Usage: jackfield prompt <target> <name> [key=value …]')
  const args = textArguments(words)
  const definition = found(await promptsOf(session.client, io.signal), name, 'prompt')
  const missing = (definition.arguments ?? []).filter(
    (entry) => entry.required === true && !Object.hasOwn(args, entry.name),
  )
  if (missing.length > 0) {
    const lines = missing.map(
      (entry) =>
        `  ${oneLine(entry.name)}${entry.description === undefined ? '' : `: ${oneLine(entry.description)}`}`,
    )
    throw usageError(`Missing ${missing.length === 1 ? 'argument' : 'arguments'}:\n${lines.join('\n')}`)
  }
  const result = await session.client.prompt(name, args, { signal: io.signal })
  output.result(result, () => promptResult(result, output.palette))
  return ExitCode.done
}
