import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { HostOptions, Surface } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { createOutput, type Io, isInteractive, type Output } from '../cli/io.ts'
import { modelsInUse } from '../cli/models.ts'
import { hostWithStore, storeFile } from '../cli/store.ts'
import { readConfig } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { terminalSurface } from '../surface/terminal.ts'
import { converse } from './chat.ts'
import { commandNames } from './commands.ts'
import { createFloor } from './floor.ts'
import { pipedFace } from './piped-face.ts'
import { terminalFace } from './terminal-face.ts'

export interface ChatOptions {
  config?: string
  model?: string
  root?: string[]
  answers?: string
  store?: string
}

/** `jackfield chat` */
export async function chat(options: ChatOptions, io: Io, output: Output): Promise<ExitCode> {
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const roots = [
    ...config.roots,
    ...(options.root ?? []).map((folder) => ({ uri: pathToFileURL(resolve(io.cwd, folder)).href })),
  ]
  const models = modelsInUse(io.env, options.model, config.models)
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  await hold(
    {
      servers: config.servers,
      store: storeFile(options.store, io),
      rules: config.rules,
      roots,
      ...(config.defaultVerdict !== undefined && { defaultVerdict: config.defaultVerdict }),
      ...config.limits,
    },
    models,
    answers === undefined ? undefined : answersSurface(answers, (message) => output.note(message)),
    io,
  )
  return ExitCode.done
}

/**
 * Starts a host and holds a conversation on it until the person leaves. Questions go to `surface` where one is given,
 * else to the person at the terminal, else to nobody.
 */
export async function hold(
  options: Omit<HostOptions, 'surface' | 'models'>,
  models: ReturnType<typeof modelsInUse>,
  surface: Surface | undefined,
  io: Io,
): Promise<void> {
  const interactive = isInteractive(io)
  const floor = createFloor()
  const person = interactive
    ? terminalSurface({
        input: io.stdin,
        output: io.stdout,
        env: io.env,
        onAsking: (begins) => floor.asking(begins),
      })
    : undefined
  const face = surface ?? person
  await using host = hostWithStore(
    {
      ...options,
      ...(face !== undefined && { surface: face }),
      models: [...models],
      info: { name: 'jackfield', title: 'Jackfield', version },
    },
    (text) => createOutput(io, false).note(text),
  )
  await host.start()
  await floor.free()
  const talk = interactive ? terminalFace(io, floor, () => commandNames(host)) : pipedFace(io)
  await converse(host, models, talk, io.env)
}
