import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ConversationOptions, Host, HostOptions, Surface } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { followConfig } from '../cli/follow.ts'
import { createOutput, type Io, isInteractive, type Output } from '../cli/io.ts'
import { modelsInUse } from '../cli/models.ts'
import { hostSettings } from '../cli/settings.ts'
import { hostWithStore, storeFile } from '../cli/store.ts'
import { type ConfigChoice, readConfig } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { terminalSurface } from '../surface/terminal.ts'
import { converse } from './chat.ts'
import { commandNames } from './commands.ts'
import { createFloor } from './floor.ts'
import { pipedFace } from './piped-face.ts'
import { terminalFace } from './terminal-face.ts'

export interface ChatOptions extends ConfigChoice {
  model?: string
  root?: string[]
  answers?: string
  store?: string
  /** The model may write programs over the tools. */
  code?: boolean
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
      ...hostSettings(config, options, io),
      servers: config.servers,
      store: storeFile(options.store, io),
      roots,
    },
    models,
    answers === undefined ? undefined : answersSurface(answers, (message) => output.note(message)),
    io,
    (host) =>
      followConfig(host, options, io, (event) => {
        if ('problem' in event) return output.note(event.problem)
        for (const [what, names] of Object.entries(event.done))
          if (names.length > 0) output.note(`${what} by the configuration: ${names.join(', ')}`)
      }),
    { codeMode: options.code === true },
  )
  return ExitCode.done
}

/**
 * Starts a host and holds a conversation on it until the person leaves. Questions go to `surface` where one is given,
 * else to the person at the terminal, else to nobody. `begin` is called before the first word, what it gives after the last.
 */
export async function hold(
  options: Omit<HostOptions, 'surface' | 'models'>,
  models: ReturnType<typeof modelsInUse>,
  surface: Surface | undefined,
  io: Io,
  begin: (host: Host) => () => void = () => () => {},
  talkOptions: Pick<ConversationOptions, 'codeMode'> = {},
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
      ...(person !== undefined && { askInput: person.askInput }),
      models: [...models],
      info: { name: 'jackfield', title: 'Jackfield', version },
    },
    (text) => createOutput(io, false).note(text),
  )
  await host.start()
  await floor.free()
  const talk = interactive ? terminalFace(io, floor, () => commandNames(host)) : pipedFace(io)
  const end = begin(host)
  try {
    await converse(host, models, talk, io.env, talkOptions)
  } finally {
    end()
  }
}
