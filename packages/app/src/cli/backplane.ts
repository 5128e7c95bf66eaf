import { readFile } from 'node:fs/promises'
import type { Backplane } from '@jackfield/sdk'
import { usageError } from './exit.ts'
import { whyUnreadable } from './unreadable.ts'

/** A backplane that a command opened, and closes. */
export type OpenBackplane = Backplane & { close(): Promise<void> }

/** The environment variable in place of `--backplane`, which keeps a password out of the list of processes. */
export const backplaneVariable = 'JACKFIELD_BACKPLANE'

const minKeyBytes = 32

/** Opens the backplane at a URL of Redis or PostgreSQL, whose package is installed beside the command. */
export async function openBackplane(
  url: string,
  onWarning: (message: string) => void,
): Promise<OpenBackplane> {
  const settings = { url, onWarning }
  if (/^rediss?:\/\//.test(url)) {
    const { redisBackplane } = await installed('@jackfield/redis', () => import('@jackfield/redis'))
    return redisBackplane(settings)
  }
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    const { postgresBackplane } = await installed('@jackfield/postgres', () => import('@jackfield/postgres'))
    return postgresBackplane(settings)
  }
  // The URL may have a password.
  throw usageError(
    '--backplane needs a URL that begins with redis://, rediss://, postgres:// or postgresql://.',
  )
}

/** The keys in a file, one a line: the first one encrypts, all of them decrypt. */
export async function keysIn(file: string): Promise<string[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw usageError(`${file} cannot be read: ${whyUnreadable(error)}.`)
  }
  const keys = text.split(/\r?\n/).filter((line) => line !== '')
  if (keys.length > 0 && keys.every((key) => Buffer.byteLength(key) >= minKeyBytes)) return keys
  throw usageError(
    `${file} needs one key a line, each of ${minKeyBytes} bytes or more, such as those of: openssl rand -base64 32`,
  )
}

async function installed<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (Object(error).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw usageError(
      `This backplane needs the package ${name}, and it is not installed beside jackfield. If jackfield is installed globally: npm install --global ${name}. If it is installed in a project: npm install ${name}, in its folder.`,
    )
  }
}
