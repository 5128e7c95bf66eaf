import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Backplane } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from './exit.ts'
import { readErrorReason } from './file-errors.ts'

/** A backplane that a command opened, and closes. */
export type OpenBackplane = Backplane & { close(): Promise<void> }

/** The environment variable that replaces `--backplane`, to keep a password out of the process list. */
export const backplaneVariable = 'JACKFIELD_BACKPLANE'

const minKeyBytes = 32

/** Opens the backplane at a Redis or PostgreSQL URL. The package for it is installed next to `jackfield`. */
export async function openBackplane(
  url: string,
  onWarning: (message: string) => void,
): Promise<OpenBackplane> {
  const settings = { url, onWarning }
  if (/^rediss?:\/\//.test(url)) {
    const { redisBackplane } = await importInstalled('@jackfield/redis', () => import('@jackfield/redis'))
    return withConnectErrors(redisBackplane(settings))
  }
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    const { postgresBackplane } = await importInstalled(
      '@jackfield/postgres',
      () => import('@jackfield/postgres'),
    )
    return withConnectErrors(postgresBackplane(settings))
  }
  // The URL may have a password.
  throw usageError(
    '--backplane needs a URL that begins with redis://, rediss://, postgres:// or postgresql://.',
  )
}

/** The keys in a file, one per line: the first encrypts, all of them decrypt. */
export async function readKeys(file: string): Promise<string[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw usageError(`${file} cannot be read: ${readErrorReason(error)}.`)
  }
  const keys = text.split(/\r?\n/).filter((line) => line !== '')
  if (keys.length > 0 && keys.every((key) => Buffer.byteLength(key) >= minKeyBytes)) return keys
  throw usageError(
    `${file} needs one key per line, each of ${minKeyBytes} bytes or more. Create one with: openssl rand -base64 32`,
  )
}

/** @throws CliError if the store cannot be reached */
async function withConnectErrors<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    // Installed separately, the package has its own copy of the SDK, so `instanceof` does not recognize its errors.
    const { code, message } = Object(error)
    if (code !== 'CONNECT_FAILED') throw error
    throw new CliError(ExitCode.cannotConnect, String(message), { cause: error, code })
  }
}

async function importInstalled<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const { code, message } = Object(error)
    if (code !== 'ERR_MODULE_NOT_FOUND' || !String(message).includes(`'${name}'`)) throw error
    const own = dirname(fileURLToPath(import.meta.resolve('jackfield/package.json')))
    throw usageError(
      `This backplane needs the package ${name}, which is not installed. ${installHint(name, own)}`,
    )
  }
}

/** How to install a package so that the `jackfield` in a folder finds it. */
export function installHint(name: string, own: string): string {
  const modules = dirname(own)
  const place = dirname(modules)
  const parts = own.split(/[\\/]/)
  if (existsSync(join(place, 'start.cjs')))
    return `The single-file executable cannot load packages. Install jackfield with npm: npm install --global jackfield ${name}`
  if (parts.includes('_npx'))
    return `npx installs it for a command that names both packages: npx --package jackfield --package ${name} jackfield gateway`
  if (parts.includes('.pnpm'))
    return `Install it where jackfield is installed: pnpm add ${name}, or for a global jackfield: pnpm add --global ${name}`
  if (parts.includes('.bun')) return `Install it beside the global jackfield: bun add --global ${name}`
  if (basename(modules) === 'node_modules' && !existsSync(join(place, 'package.json')))
    return `Install it beside the global jackfield: npm install --global ${name}`
  return `Install it in ${basename(modules) === 'node_modules' ? place : own}: npm install ${name}`
}
