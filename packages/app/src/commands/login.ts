import type { Host, LoginService } from '@jackfield/host'
import { FixableError } from '@jackfield/host/config'
import { type CliError, ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { surfaceFor } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, fixesFor, readTarget, type Target, targetArgument } from '../cli/target.ts'
import { makeHost } from '../daemon/service.ts'
import { count, oneLine, plain, shellWord } from '../output/sanitize.ts'

export interface LoginOptions extends ConfigChoice {
  store?: string
  json?: boolean
  /** False: only prints the URL, for another browser on this machine. */
  browser?: boolean
}

/** `jackfield login <server>`: opens the page without a question, since the user requested it. */
export async function login(
  words: string[],
  options: LoginOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const target = await targetOf(words, options, io, 'login')
  await using host = await createHostFor(target, options, io)
  host.on((event) => {
    if (event.type !== 'login') return
    const how =
      options.browser === false ? 'Open this page to sign in:' : 'Sign in at the page that opens, or here:'
    output.note(`${how}\n  ${plain(event.url)}`)
  })
  await host.start()
  io.signal.throwIfAborted()
  const { name } = target
  const already = host.connections.get(name)?.state === 'ready'
  if (!already)
    await host.logins.signIn(name).catch((error: unknown) => {
      throw error instanceof FixableError
        ? new FixableError(error.code, error.message, fixesFor(target, error.fixes), {
            cause: error,
            details: error.details,
          })
        : error
    })
  const tools = host.tools().length
  output.result({ server: name, state: 'ready', already, tools }, () =>
    already
      ? `${plain(name)} is ready; no sign-in is needed. To sign in as another user: jackfield logout ${shellWord(oneLine(targetArgument(target)))}`
      : `Signed in. ${plain(name)} is ready, with ${count(tools, 'tool')}.`,
  )
  return ExitCode.done
}

/** `jackfield logout <server>` */
export async function logout(
  words: string[],
  options: LoginOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const target = await targetOf(words, options, io, 'logout')
  await using host = await createHostFor(target, options, io)
  const { name } = target
  const revocation = await host.logins.signOut(name)
  output.result({ server: name, signedIn: false, revocation }, () => signOutText(name, revocation))
  return ExitCode.done
}

type Revocation = Awaited<ReturnType<LoginService['signOut']>>

function signOutText(server: string, revocation: Revocation): string {
  const message = `Signed out of ${plain(server)}.`
  switch (revocation.outcome) {
    case 'none':
      return `No user was signed in at ${plain(server)}.`
    case 'revoked':
      return `${message} The tokens are revoked.`
    case 'unsupported':
      return `${message} ${plain(revocation.issuer)} does not support revocation, so the tokens stay valid there until they expire.`
    case 'failed':
      return `${message} The tokens could not be revoked: ${plain(revocation.reason)}. They are deleted here, but stay valid at the issuer until they expire; to revoke them now, go to ${plain(revocation.issuer)}.`
  }
}

async function targetOf(words: string[], options: LoginOptions, io: Io, command: string): Promise<Target> {
  if (words.length === 0) throw missingServerError(command)
  const { target } = await readTarget({ words, command: undefined }, options, io)
  if ('url' in target.server) return target
  throw usageError(`${plain(target.name)} is a program and has no sign-in.`)
}

function missingServerError(command: string): CliError {
  return usageError(`Which server? Usage: jackfield ${command} <server or URL>`)
}

/** A host with the one server, started without a question, since the user named it. */
async function createHostFor(target: Target, options: LoginOptions, io: Io): Promise<Host> {
  const person = surfaceFor(io)
  const host = makeHost({
    ...hostSettings(target.config, options, io),
    servers: { [target.name]: { ...target.server, disabled: false, lazy: false } },
    models: [],
    store: storeFile(options.store, io),
    // Values of its configuration are asked for; the sign-in itself was requested.
    ...(person?.show.input !== undefined && {
      surface: { name: person.name, show: { input: person.show.input } },
    }),
    ...(options.browser === false && { openPage: async () => {} }),
    connect: { follow: false, idlePingMs: 0 },
  })
  io.signal.addEventListener('abort', () => void host.close(), { once: true })
  return host
}
