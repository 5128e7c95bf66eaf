import type { HostConnectOptions } from '@jackfield/host'
import type { Io, Output } from '../cli/io.ts'
import { openSession, type Session, type SessionOptions } from '../cli/session.ts'
import { type CommandWords, type ConfigChoice, type Target, takeTarget } from '../cli/target.ts'
import { readAnswers } from '../surface/answers-file.ts'

/** Options of every command that talks to one server. */
export interface ServerOptions extends ConfigChoice {
  header?: string[]
  env?: string[]
  json?: boolean
  answers?: string
  store?: string
  era?: string
  revision?: string
  verbose?: boolean
  timeout?: number
}

/** What a command is run with. */
export interface CommandContext<O = ServerOptions> extends CommandWords {
  options: O
  io: Io
  output: Output
}

/** Connects to the server the words begin with, fetches `lists`, and gives the words after it and what they named. */
export async function connectTo(
  context: CommandContext,
  lists: NonNullable<HostConnectOptions['lists']> = [],
  more: Pick<SessionOptions, 'surface' | 'own' | 'onAsking'> = {},
): Promise<{ session: Session; rest: string[]; target: Target }> {
  const { options, io, output } = context
  const { target, rest } = await takeTarget(context, options, io)
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  return {
    session: await openSession(target, lists, { ...options, answers, ...more }, io, output),
    rest,
    target,
  }
}
