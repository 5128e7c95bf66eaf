import type { DoctorReport, DoctorStep, LayeredConfig, ServerConfig } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { openHost } from '../cli/host.ts'
import { runOperation, surfaceFor } from '../cli/session.ts'
import { fixesFor, hasErrors, readConfig, readTarget, type Target } from '../cli/target.ts'
import { fixLines } from '../output/fixes.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { widthOf, wrap } from '../output/width.ts'
import { answerQuestions } from '../surface/answer-questions.ts'
import type { CommandContext } from './context.ts'

/** `jackfield doctor [target]`: diagnoses one server or every configured one. */
export async function doctor(context: CommandContext): Promise<ExitCode> {
  const { options, io, output } = context
  const { servers, config, isDisabled, target } = await chosenServers(context)
  const isBroken = target === undefined && config !== undefined && hasErrors(config)
  const person = surfaceFor(io)
  await using open = await openHost(options, 'jackfield doctor', io, {
    // Without a user, no question may wait at another terminal; and only a host in this process starts disabled servers.
    isLocal: person === undefined || config === undefined || isDisabled,
    localOptions: async () => ({
      ...{ config: config ?? null, servers, models: [], follow: false },
      ...(person === undefined && { surface: { name: 'nobody', show: {} } }),
    }),
  })
  const { client } = open
  if (person !== undefined)
    await answerQuestions(client, person, {
      isMine: ({ question }) => Object.hasOwn(servers, question.cause.server),
      note: output.note,
    })
  const reports: DoctorReport[] = []
  const { palette } = output
  const asTyped = (step: DoctorStep): DoctorStep => (target === undefined ? step : stepFor(target, step))
  for (const name of Object.keys(servers)) {
    if (!output.json) io.stdout.write(`${reports.length === 0 ? '' : '\n'}${palette.bold(oneLine(name))}\n`)
    let shown = 0
    const show = (steps: readonly DoctorStep[]): void => {
      const newSteps = steps.slice(shown)
      shown = steps.length
      if (!output.json)
        for (const step of newSteps.map(asTyped))
          io.stdout.write(`${stepLines(step, palette, output.columns)}\n`)
    }
    const report = await runOperation({ client, person }, { kind: 'examine', server: name }, io.signal, {
      onRow: ({ steps = [] }) => show(steps),
    })
    show(report.steps)
    reports.push({ ...report, steps: report.steps.map(asTyped) })
  }
  const hasNotes = reports.some(({ steps }) => steps.some(({ outcome }) => outcome === 'note'))
  const unhealthy = reports.filter(({ healthy }) => !healthy).length
  const verdict =
    reports.length === 0
      ? isBroken
        ? 'There are no servers to check. Correct what is reported above.'
        : 'There are no servers to check.'
      : unhealthy === 0
        ? `No problems found${reports.length === 1 ? '' : ` with ${reports.length} servers`}${isBroken ? ', but in the configuration: see above' : hasNotes ? '; see the lines with "!"' : ''}.`
        : `${unhealthy} of ${reports.length} ${unhealthy === 1 ? 'needs' : 'need'} your attention.`
  output.result({ healthy: unhealthy === 0 && !isBroken, servers: reports }, () => `\n${verdict}`)
  if (unhealthy > 0) return ExitCode.cannotConnect
  return isBroken ? ExitCode.usage : ExitCode.done
}

/** A step with the fixes that the command line has for an unconfigured URL: its headers are options. */
function stepFor(target: Target, step: DoctorStep): DoctorStep {
  if (!('url' in target.server) || target.config !== undefined) return step
  const fixes = fixesFor(target, step.fixes ?? [])
  const isAboutHeaders =
    step.advice?.includes('"headers"') === true ||
    step.fixes?.some((fix) => fix.action === 'configure' && fix.setting === 'headers') === true
  const option = "--header 'Authorization: Bearer <token>'"
  return {
    ...step,
    ...(step.fixes !== undefined && { fixes }),
    ...(isAboutHeaders && {
      advice: fixes.length > 0 ? `Or, if you have a token: ${option}` : `Give a valid token: ${option}`,
    }),
  }
}

async function chosenServers(context: CommandContext): Promise<{
  servers: Record<string, ServerConfig>
  config: LayeredConfig | undefined
  isDisabled: boolean
  /** The server that was named. */
  target?: Target
}> {
  const { words, command, options, io, output } = context
  if (words.length > 0 || command !== undefined) {
    const { target } = await readTarget(context, options, io)
    const { name, server, config } = target
    return {
      servers: { [name]: { ...server, disabled: false } },
      config,
      isDisabled: server.disabled === true,
      target,
    }
  }
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const enabled = Object.entries(config.servers).filter(([, server]) => server.disabled !== true)
  return { servers: Object.fromEntries(enabled), config, isDisabled: false }
}

/** Columns of a text on a terminal that is too narrow for its indent. */
const minColumns = 30

const marks: Readonly<Record<DoctorStep['outcome'], string>> = {
  ok: '✓',
  note: '!',
  failed: '✗',
  skipped: '·',
}

/** A step as a line, with what to do below it. `columns`: the width of a terminal. */
export function stepLines(
  { step, outcome, durationMs, message, advice, fixes = [] }: DoctorStep,
  palette: Palette,
  columns?: number,
): string {
  const colour = { ok: palette.green, note: palette.yellow, failed: palette.red, skipped: palette.dim }[
    outcome
  ]
  const time = outcome === 'skipped' ? '' : `${durationMs} ms`
  // Consent and variables are one step of the report, and different things to do.
  const name = fixes.some(({ action }) => action === 'approve') ? 'consent' : step
  const head = `  ${colour(marks[outcome])} ${name.padEnd(11)} ${time.padStart(8)}  `
  const indent = ' '.repeat(widthOf(`  ${marks[outcome]} ${name.padEnd(11)} ${time.padStart(8)}  `))
  const parts = step === 'environment' && columns !== undefined ? message.split('; ') : [message]
  const lines = parts.flatMap((part) => wrapIndented(oneLine(part), columns, indent))
  const text = lines.map((line) => (outcome === 'skipped' ? palette.dim(line) : line)).join(`\n${indent}`)
  const todo = [...fixLines(fixes), ...(advice === undefined ? [] : [oneLine(advice)])]
  const next = todo.map((line) => {
    const [first = '', ...more] = wrapIndented(line, columns, `${indent}  `)
    return [`${indent}${palette.bold('→')} ${first}`, ...more.map((rest) => `${indent}  ${rest}`)].join('\n')
  })
  return [`${head}${text}`, ...next].join('\n')
}

/** The lines of a text that is indented on a terminal of this width. */
function wrapIndented(text: string, columns: number | undefined, indent: string): string[] {
  return columns === undefined ? [text] : wrap(text, Math.max(columns - indent.length, minColumns))
}
