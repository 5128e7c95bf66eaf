import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ErrorCode, RpcError } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { writeErrorReason } from '../cli/file-errors.ts'
import { runOperation } from '../cli/session.ts'
import { formatBytes, readResult } from '../output/content.ts'
import { type ContentOptions, markdownResources, printRaw, rawResources } from '../output/formats.ts'
import { mediaOfResources, saveMedia } from '../output/media.ts'
import { resourcePreview } from '../output/preview.ts'
import { oneLine, shellWord } from '../output/sanitize.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'

export interface ReadCommandOptions extends ServerOptions, ContentOptions {
  outputFile?: string
}

/** The same error, with where to find the URIs of the server if it does not have this one. */
function withList(error: unknown, uri: string, { words, command }: CommandContext): unknown {
  const isMissing =
    error instanceof RpcError &&
    (error.code === ErrorCode.ResourceNotFound || error.code === ErrorCode.InvalidParams) &&
    /not found/i.test(error.message)
  if (!isMissing) return error
  const target = command === undefined ? oneLine(words[0] ?? '') : `-- ${oneLine(command.join(' '))}`
  return new CliError(
    ExitCode.protocol,
    `The server has no resource "${oneLine(uri)}": ${oneLine(error.message)}. List its resources: jackfield resources ${target}`,
    { code: error.code, ...(error.data !== undefined && { data: error.data }) },
  )
}

/** `jackfield read <target> <uri>` */
export async function read(context: CommandContext<ReadCommandOptions>): Promise<ExitCode> {
  const { options, io, output } = context
  if (options.outputFile !== undefined && (options.output !== undefined || options.saveMedia !== undefined))
    throw usageError('--output-file writes one content as it is. Leave out --output and --save-media.')
  const [first = '', second] = context.words
  if (context.command === undefined && second === undefined && /^(?!https?:)[a-z][\w+.-]*:\/\//i.test(first))
    throw usageError(
      `Which server has ${oneLine(first)}? Name it first: jackfield read <server> ${shellWord(oneLine(first))}. The resources of all servers: jackfield resources`,
    )
  const { session, rest } = await connectTo(context)
  await using _ = session
  const [uri, ...more] = rest
  if (uri === undefined || more.length > 0)
    throw usageError('Which resource? Usage: jackfield read <target> <uri>')
  const { outputFile, saveMedia: folder } = options
  if (
    outputFile === undefined &&
    folder === undefined &&
    options.output === undefined &&
    options.json !== true
  ) {
    const characters = Number.MAX_SAFE_INTEGER
    const preview = await session.client
      .call('library.preview', { server: session.server, uri, characters }, { signal: io.signal })
      .catch((error: unknown) => {
        throw withList(error, uri, context)
      })
    output.result(preview, () => resourcePreview(preview, output.palette))
    if (preview.withheld !== undefined) output.note(`Not given to a model: ${preview.withheld}.`)
    return ExitCode.done
  }
  const request = { kind: 'read', server: session.server, uri } as const
  const result = await runOperation(session, request, io.signal).catch((error: unknown) => {
    throw withList(error, uri, context)
  })
  if (outputFile === undefined) {
    if (options.output === 'raw') printRaw(rawResources(result.contents), io, output)
    else
      output.result(result, () =>
        options.output === 'markdown'
          ? markdownResources(result.contents)
          : readResult(result, output.palette),
      )
    if (folder !== undefined) await saveMedia(mediaOfResources(result.contents), folder, io.cwd, output)
    return ExitCode.done
  }
  const [only, ...others] = result.contents
  if (only === undefined || others.length > 0) {
    throw usageError(
      `--output-file takes one content, but ${uri} has ${result.contents.length}. Leave it out, or use --json.`,
    )
  }
  const bytes = 'text' in only ? Buffer.from(only.text) : Buffer.from(only.blob, 'base64')
  const file = resolve(io.cwd, outputFile)
  await writeFile(file, bytes).catch((error: unknown) => {
    throw usageError(`${file} cannot be written: ${writeErrorReason(error)}`)
  })
  output.note(`${formatBytes(bytes.length)} written to ${file}`)
  return ExitCode.done
}
