import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import * as clack from '@clack/prompts'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { type Io, isInteractive, type Output } from '../cli/io.ts'
import { secretStore } from '../cli/secrets.ts'
import { storeFile } from '../cli/store.ts'
import { makeHost } from '../daemon/service.ts'
import { count, oneLine } from '../output/sanitize.ts'

const minRedactedCharacters = 6

/** `jackfield secret set <name>`: reads the value from a hidden prompt or stdin, never from the command line. */
export async function setSecret(
  words: readonly string[],
  _options: object,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const [name, ...rest] = words
  if (name === undefined) throw usageError('Which secret? Usage: jackfield secret set <name>')
  if (rest.length > 0) {
    throw usageError(
      'A value does not belong on the command line, where every program can read it. Leave it out and type it when you are asked, or pipe it in.',
    )
  }
  const value = await readSecretValue(name, io)
  const store = secretStore(io)
  await store.set(name, value)
  if (value.length < minRedactedCharacters)
    output.note(
      `It has fewer than ${minRedactedCharacters} characters, so it is not redacted in logs and results.`,
    )
  output.result({ name, kept: store.kind }, () => `${oneLine(name)} is stored in ${store.kind}.`)
  return ExitCode.done
}

/** `jackfield secret list`: names, without values. */
export async function listSecrets(
  _words: readonly string[],
  _options: object,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const store = secretStore(io)
  const names = await store.names()
  output.result({ kept: store.kind, names }, () => {
    const { palette } = output
    const heading = palette.dim(`${count(names.length, 'secret')} in ${store.kind}`)
    if (names.length > 0) return `${heading}\n${names.map((name) => oneLine(name)).join('\n')}`
    return `${heading}\nSet one with: jackfield secret set NAME. Use it in a configuration as \${secret:NAME}.`
  })
  return ExitCode.done
}

/** `jackfield secret remove <name>` */
export async function removeSecret(
  words: readonly string[],
  _options: object,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const [name] = words
  if (name === undefined) throw usageError('Which secret? jackfield secret list shows their names.')
  if (!(await removeStored(name, io)))
    throw usageError(`There is no secret "${oneLine(name)}". jackfield secret list shows their names.`)
  output.result({ name, removed: true }, () => `${oneLine(name)} was removed.`)
  return ExitCode.done
}

/** Deletes a secret, or the stored value of a configuration input that is no secret; false if neither exists. */
async function removeStored(name: string, io: Io): Promise<boolean> {
  const secrets = secretStore(io)
  const store = storeFile(undefined, io)
  if (!existsSync(store)) return secrets.remove(name)
  await using host = makeHost({ servers: {}, models: [], store, secrets })
  return await host.secrets.remove(name)
}

/** A value typed hidden, or from stdin if that is no terminal. */
export async function readSecretValue(name: string, io: Io): Promise<string> {
  if (isInteractive(io)) {
    const typed = await clack.password({
      input: io.stdin,
      output: io.stderr,
      message: `The value of ${oneLine(name)}`,
      signal: io.signal,
    })
    if (typeof typed !== 'string' || typed === '')
      throw new CliError(ExitCode.toolError, 'Nothing was stored.')
    return typed
  }
  const piped = (await text(io.stdin)).replace(/\r?\n$/, '')
  if (piped === '') throw usageError('stdin was empty. Pipe the value in, or run this in a terminal.')
  return piped
}
