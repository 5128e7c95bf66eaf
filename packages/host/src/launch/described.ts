import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { partsOf, soundsSecret, textsOf } from '../config/index.ts'
import { fingerprint } from '../json.ts'
import { maxVariablesBytes } from '../secrets/index.ts'
import { readSmallFile } from '../small-file.ts'
import type { ServerConfig, TrustFinding } from '../types/index.ts'
import { type Surroundings, spelled } from './spelled.ts'

/** What is started, for a person to read and to agree to. */
export interface Described {
  /** The command line as a shell would take it, with the folder it runs in; or the address. */
  command: string
  /** One hash of the file and everything that says what is started and what it is given. */
  identity: string
}

/** Secrets and inputs stand by their names; every other variable stands as what it is now. */
export async function described(config: ServerConfig, around: Surroundings): Promise<Described> {
  const text = (given: string): string => spelled(given, config, around)
  const { from } = config
  if ('url' in config) {
    const identity = fingerprint({
      file: from?.file,
      replaces: from?.replaces,
      url: text(config.url),
      headers: config.headers,
      auth: config.auth,
    })
    return { command: text(config.url), identity }
  }
  const words = [config.command, ...(config.args ?? [])].map(text)
  const cwd = config.cwd === undefined ? undefined : text(config.cwd)
  const envFile = config.envFile === undefined ? undefined : text(config.envFile)
  const identity = fingerprint({
    file: from?.file,
    replaces: from?.replaces,
    words,
    cwd,
    env: config.env,
    envFile,
    variables: envFile === undefined ? undefined : await hashOf(resolve(dirname(from?.file ?? ''), envFile)),
    sandbox: config.sandbox,
  })
  const folder = cwd === undefined ? '' : `cd ${quoted(cwd)} && `
  return { command: `${folder}${words.map(quoted).join(' ')}`, identity }
}

/** Whether what is allowed by name holds for another server than the person wrote it for. */
export function takenName({ from }: ServerConfig): TrustFinding[] {
  if (from?.replaces === undefined) return []
  const message = `It takes the place of your own server of this name in ${from.replaces}, and your rules for that name hold for it.`
  return [{ severity: 'warning', code: 'takes-a-name', at: 'name', message }]
}

/** What a configuration hands over of the person's own. */
export function handedOver(config: ServerConfig): TrustFinding[] {
  return textsOf(config).flatMap(({ field, text }) => {
    const read = partsOf(text)
    const at = field.join('.')
    return ('parts' in read ? read.parts : []).flatMap((part): TrustFinding[] => {
      if (part.kind === 'secret')
        return [
          {
            severity: 'warning',
            code: 'gives-a-secret',
            at,
            message: `It is given your secret "${part.name}".`,
          },
        ]
      if (part.kind === 'file')
        return [
          {
            severity: 'warning',
            code: 'gives-a-file',
            at,
            message: `It is given what stands in ${part.name}.`,
          },
        ]
      if (part.kind !== 'env' || !soundsSecret(part.name)) return []
      const message = `It is given ${part.name} of your environment, which sounds like a secret.`
      return [{ severity: 'warning', code: 'gives-a-variable', at, message }]
    })
  })
}

function quoted(word: string): string {
  return /^[\w@%+=:,./${}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

async function hashOf(file: string): Promise<string | null> {
  try {
    return createHash('sha256')
      .update(await readSmallFile(file, maxVariablesBytes))
      .digest('hex')
  } catch {
    return null
  }
}
