import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { textsOf } from '../../config/config.ts'
import { givenValues } from '../../config/given-values.ts'
import { fileVariables, maxVariablesBytes } from '../../config/secrets/resolve.ts'
import { partsOf, soundsSecret } from '../../config/variables.ts'
import { fingerprint } from '../../shared/json.ts'
import { readSmallFile } from '../../shared/small-file.ts'
import type { GivenValue, ServerConfig, TrustFinding } from '../../types/index.ts'
import { scanCommand } from './command.ts'
import { placed } from './placed.ts'
import { type Surroundings, spelled } from './spelled.ts'

/** What is started, for a person to read and to agree to. */
export interface Described {
  /** The command line as a shell would take it, with the folder it runs in; or the address. */
  command: string
  /** The file that the command names on this machine, and what it leads to where it is a link. */
  program?: string
  /** The variables, or headers, that it is given. */
  given: GivenValue[]
  findings: TrustFinding[]
  /** One hash of the file and everything that says what is started and what it is given. */
  identity: string
}

/** Secrets and inputs are shown by their names; every other variable is shown as what it is now. */
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
      files: await filesIn(config),
    })
    const findings = [...scanCommand(config), ...handedOver(config)]
    return { command: text(config.url), given: givenValues(config.headers), findings, identity }
  }
  const words = [config.command, ...(config.args ?? [])].map(text)
  const [command = '', ...args] = words
  const cwd = config.cwd === undefined ? undefined : text(config.cwd)
  const envFile = config.envFile === undefined ? undefined : text(config.envFile)
  const kept = envFile === undefined ? undefined : resolve(dirname(from?.file ?? ''), envFile)
  const ofFile = kept === undefined ? {} : await variablesOf(kept)
  const own = Object.entries(config.env ?? {}).map(([name, value]) => [name, text(value)])
  // The texts of a file of variables are taken as they are, so they are not looked up here either.
  const now = { ...ofFile, ...Object.fromEntries(own) }
  const place = await placed(
    { ...config, command, args, env: now, ...(cwd !== undefined && { cwd }) },
    around,
  )
  const env = { ...ofFile, ...config.env }
  const identity = fingerprint({
    file: from?.file,
    replaces: from?.replaces,
    words,
    cwd,
    env: config.env,
    envFile,
    variables: kept === undefined ? undefined : await hashOf(kept),
    sandbox: config.sandbox,
    files: await filesIn(config),
    program: [place.file, place.real, place.cwd, place.args],
    contents: place.contents,
  })
  const folder = cwd === undefined ? '' : `cd ${quoted(place.cwd)} && `
  return {
    command: `${folder}${[command, ...place.args].map(quoted).join(' ')}`,
    ...(place.file !== undefined && {
      program: place.real === undefined ? place.file : `${place.file} → ${place.real}`,
    }),
    given: givenValues(env),
    findings: [...scanCommand({ ...config, env }), ...handedOver(config), ...place.findings],
    identity,
  }
}

/** Hashes of the files whose contents the server is given (`${file:path}`). */
async function filesIn(config: ServerConfig): Promise<Record<string, string | null>> {
  const names = textsOf(config).flatMap(({ text }) => {
    const read = partsOf(text)
    return 'parts' in read ? read.parts.flatMap((part) => (part.kind === 'file' ? [part.name] : [])) : []
  })
  const folder = dirname(config.from?.file ?? '')
  const hashes = await Promise.all(names.map((name) => hashOf(resolve(folder, name))))
  return Object.fromEntries(names.map((name, index) => [name, hashes[index] ?? null]))
}

/** The variables of a file, or none where it cannot be read: the server is not started then. */
async function variablesOf(file: string): Promise<Record<string, string>> {
  return fileVariables(file).catch(() => ({}))
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
