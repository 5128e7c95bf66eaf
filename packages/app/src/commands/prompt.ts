import { parseTextArguments } from '../cli/arguments.ts'
import { ExitCode, usageError } from '../cli/exit.ts'
import { runOperation } from '../cli/session.ts'
import { promptResult } from '../output/content.ts'
import { type ContentOptions, markdownPrompt, printRaw, rawBlocks } from '../output/formats.ts'
import { mediaOf, saveMedia } from '../output/media.ts'
import { promptPreview } from '../output/preview.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { requireFound } from './list.ts'
import { refuseQuarantined } from './trust.ts'

export interface PromptOptions extends ServerOptions, ContentOptions {
  preview?: boolean
}

/** `jackfield prompt <target> <name> [key=value …]` */
export async function prompt(context: CommandContext<PromptOptions>): Promise<ExitCode> {
  const { options, io, output } = context
  const { session, rest } = await connectTo(context, ['prompts'], {
    item: { kind: 'prompt', command: 'prompt' },
  })
  await using _ = session
  const [name, ...words] = rest
  if (name === undefined)
    throw usageError('Which prompt? Usage: jackfield prompt <target> <name> [key=value …]')
  const args = parseTextArguments(words)
  if (!session.catalog.prompts.some(({ prompt }) => prompt.name === name))
    refuseQuarantined(session, { what: 'prompt', name })
  const entry = requireFound(session.catalog.prompts, ({ prompt }) => prompt.name, name, 'prompt')
  const missing = (entry.prompt.arguments ?? []).filter(
    (argument) => argument.required === true && !Object.hasOwn(args, argument.name),
  )
  const declared = (entry.prompt.arguments ?? []).map((argument) => argument.name)
  const unknown = Object.keys(args).filter((key) => !declared.includes(key))
  if (unknown.length > 0) {
    const has =
      declared.length === 0 ? 'It has none' : `It has: ${declared.map((key) => oneLine(key)).join(', ')}`
    throw usageError(
      `${oneLine(name)} has no argument ${unknown.map((key) => `"${oneLine(key)}"`).join(', ')}. ${has}.`,
    )
  }
  if (missing.length > 0) {
    const lines = missing.map(
      (argument) =>
        `  ${oneLine(argument.name)}${argument.description === undefined ? '' : `: ${oneLine(argument.description)}`}`,
    )
    throw usageError(`Missing ${missing.length === 1 ? 'argument' : 'arguments'}:\n${lines.join('\n')}`)
  }
  if (options.preview === true) {
    if (options.saveMedia !== undefined || (options.output !== undefined && options.output !== 'json'))
      throw usageError('--preview prints no content. Leave out --preview, or --output and --save-media.')
    const preview = await session.client.call(
      'library.prompt',
      { prompt: entry.name, arguments: args },
      { signal: io.signal },
    )
    output.result(preview, () => promptPreview(preview, output.palette))
    return ExitCode.done
  }
  const result = await runOperation(
    session,
    { kind: 'prompt', prompt: entry.name, arguments: args },
    io.signal,
  )
  const blocks = result.messages.map(({ content }) => content)
  if (options.output === 'raw') printRaw(rawBlocks(blocks), io, output)
  else
    output.result(result, () =>
      options.output === 'markdown' ? markdownPrompt(result) : promptResult(result, output.palette),
    )
  if (options.saveMedia !== undefined)
    await saveMedia(mediaOf(blocks, name), options.saveMedia, io.cwd, output)
  return ExitCode.done
}
