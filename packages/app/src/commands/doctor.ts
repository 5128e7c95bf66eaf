import {
  createHost,
  type DoctorReport,
  type DoctorStep,
  type LayeredConfig,
  type ServerConfig,
} from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { personAt } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { readConfig, takeTarget } from '../cli/target.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { widthOf } from '../output/width.ts'
import type { CommandContext } from './context.ts'

/** `jackfield doctor [target]`: looks one server over, or every configured one. */
export async function doctor(context: CommandContext): Promise<ExitCode> {
  const { options, io, output } = context
  const { servers, config } = await chosen(context)
  const person = personAt(io)
  await using host = createHost({
    ...hostSettings(config, options, io, person?.askInput),
    servers,
    models: [],
    store: storeFile(options.store, io),
    ...(person !== undefined && { surface: person }),
  })
  const reports: DoctorReport[] = []
  const { palette } = output
  for (const name of Object.keys(servers)) {
    if (!output.json) io.stdout.write(`${reports.length === 0 ? '' : '\n'}${palette.bold(oneLine(name))}\n`)
    const onStep = (step: DoctorStep): void => {
      if (!output.json) io.stdout.write(`${stepLines(step, palette)}\n`)
    }
    reports.push(await host.examine(name, { onStep, signal: io.signal }))
  }
  const ill = reports.filter(({ healthy }) => !healthy).length
  const verdict =
    reports.length === 0
      ? 'There are no servers to look at.'
      : ill === 0
        ? `${reports.length === 1 ? 'It is' : `All ${reports.length} are`} well.`
        : `${ill} of ${reports.length} ${ill === 1 ? 'needs' : 'need'} your attention.`
  output.result({ healthy: ill === 0, servers: reports }, () => `\n${verdict}`)
  return ill === 0 ? ExitCode.done : ExitCode.cannotConnect
}

async function chosen(
  context: CommandContext,
): Promise<{ servers: Record<string, ServerConfig>; config: LayeredConfig | undefined }> {
  const { words, command, options, io, output } = context
  if (words.length > 0 || command !== undefined) {
    const { target } = await takeTarget(context, options, io)
    return { servers: { [target.name]: { ...target.server, disabled: false } }, config: target.config }
  }
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const enabled = Object.entries(config.servers).filter(([, server]) => server.disabled !== true)
  return { servers: Object.fromEntries(enabled), config }
}

const marks: Readonly<Record<DoctorStep['outcome'], string>> = {
  ok: '✓',
  note: '!',
  failed: '✗',
  skipped: '·',
}

/** A step as a line, with what to do under it. */
export function stepLines({ step, outcome, durationMs, message, fix }: DoctorStep, palette: Palette): string {
  const colour = { ok: palette.green, note: palette.yellow, failed: palette.red, skipped: palette.dim }[
    outcome
  ]
  const time = outcome === 'skipped' ? '' : `${durationMs} ms`
  const head = `  ${colour(marks[outcome])} ${step.padEnd(11)} ${time.padStart(8)}  `
  const text = outcome === 'skipped' ? palette.dim(oneLine(message)) : oneLine(message)
  if (fix === undefined) return `${head}${text}`
  const indent = ' '.repeat(widthOf(`  ${marks[outcome]} ${step.padEnd(11)} ${time.padStart(8)}  `))
  return `${head}${text}\n${indent}${palette.bold('→')} ${oneLine(fix)}`
}
