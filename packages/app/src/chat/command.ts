import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createHost, type HostOptions, type Surface } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { type Io, isInteractive, type Output } from '../cli/io.ts'
import { readConfig } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { terminalSurface } from '../surface/terminal.ts'
import { converse } from './chat.ts'
import { commandNames } from './commands.ts'
import { modelsInUse } from './models.ts'
import { pipedFace } from './piped-face.ts'
import { terminalFace } from './terminal-face.ts'

export interface ChatOptions {
  config?: string
  model?: string
  root?: string[]
  answers?: string
}

/** `jackfield chat` */
export async function chat(options: ChatOptions, io: Io, output: Output): Promise<ExitCode> {
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const roots = [
    ...config.roots,
    ...(options.root ?? []).map((folder) => ({ uri: pathToFileURL(resolve(io.cwd, folder)).href })),
  ]
  const models = modelsInUse(io.env, options.model, config.models)
  await hold(
    {
      servers: config.servers,
      rules: config.rules,
      roots,
      ...(config.defaultVerdict !== undefined && { defaultVerdict: config.defaultVerdict }),
      ...config.limits,
    },
    models,
    surfaceOf(options, io, output),
    io,
  )
  return ExitCode.done
}

/** Starts a host and holds a conversation on it until the person leaves. */
export async function hold(
  options: Omit<HostOptions, 'surface' | 'models'>,
  models: ReturnType<typeof modelsInUse>,
  surface: Surface,
  io: Io,
): Promise<void> {
  await using host = createHost({
    ...options,
    surface,
    models: [...models],
    info: { name: 'jackfield', title: 'Jackfield', version },
  })
  await host.start()
  const face = isInteractive(io) ? terminalFace(io, () => commandNames(host)) : pipedFace(io)
  await converse(host, models, face)
}

function surfaceOf(options: ChatOptions, io: Io, output: Output): Surface {
  if (options.answers !== undefined) {
    return answersSurface(readAnswers(options.answers), (message) => output.note(message))
  }
  if (isInteractive(io)) return terminalSurface({ input: io.stdin, output: io.stdout, env: io.env })
  return { name: 'no terminal' }
}
