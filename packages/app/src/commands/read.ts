import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ExitCode, usageError } from '../cli/exit.ts'
import { size } from '../output/content.ts'
import { resourcePreview } from '../output/preview.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'

export interface ReadCommandOptions extends ServerOptions {
  output?: string
}

/** `jackfield read <target> <uri>` */
export async function read(context: CommandContext<ReadCommandOptions>): Promise<ExitCode> {
  const { options, io, output } = context
  const { session, rest } = await connectTo(context)
  await using _ = session
  const [uri, ...more] = rest
  if (uri === undefined || more.length > 0)
    throw usageError('Which resource? Usage: jackfield read <target> <uri>')
  if (options.output === undefined && options.json !== true) {
    const characters = Number.MAX_SAFE_INTEGER
    const preview = await session.host.library.preview(session.server, uri, { characters, signal: io.signal })
    output.result(preview, () => resourcePreview(preview, output.palette))
    if (preview.withheld !== undefined) output.note(`No model is given it: ${preview.withheld}.`)
    return ExitCode.done
  }
  const result = await session.host.read(session.server, uri, { signal: io.signal })
  if (options.output === undefined) {
    output.result(result, () => '')
    return ExitCode.done
  }
  const [only, ...others] = result.contents
  if (only === undefined || others.length > 0) {
    throw usageError(
      `--output takes one content, but ${uri} has ${result.contents.length}. Leave it out, or use --json.`,
    )
  }
  const bytes = 'text' in only ? Buffer.from(only.text) : Buffer.from(only.blob, 'base64')
  const file = resolve(io.cwd, options.output)
  await writeFile(file, bytes).catch((error: Error) => {
    throw usageError(`${file} cannot be written: ${error.message}`)
  })
  output.note(`${size(bytes.length)} written to ${file}`)
  return ExitCode.done
}
