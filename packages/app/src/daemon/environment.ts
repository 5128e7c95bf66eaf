import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Folders that npm adds to the PATH of what it runs. */
const addedByNpm = /[\\/](?:node_modules[\\/]\.bin|node-gyp-bin)$/
const programKeyPattern = /^PATH \((.+)\)$/

/**
 * A digest of each variable's value; empty for an unset one. What npm sets for the programs that it runs counts as unset, so that
 * `npx jackfield` and `jackfield` are the same; of the PATH that it extends, the places of `programs` count, too.
 */
export function environmentDigests(
  env: NodeJS.ProcessEnv,
  names: Iterable<string>,
  programs: Iterable<string> = [],
): Record<string, string> {
  const keys = [...names, ...[...programs].map((program) => `PATH (${program})`)]
  return Object.fromEntries(keys.map((key) => [key, digest(key, env)]))
}

/** The variables whose current values differ from these digests; `PATH (name)` if a program is another one. */
export function differingVariables(
  env: NodeJS.ProcessEnv,
  known: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(known).flatMap(([key, value]) => (digest(key, env) === value ? [] : [key]))
}

function digest(key: string, env: NodeJS.ProcessEnv): string {
  const value = comparedValue(key, env)
  if (value === undefined) return ''
  return createHash('sha256').update(`${key}=${value}`).digest('base64url').slice(0, 22)
}

function comparedValue(key: string, env: NodeJS.ProcessEnv): string | undefined {
  const [, program] = programKeyPattern.exec(key) ?? []
  if (program !== undefined) return npmProgramFile(program, env)
  const value = env[key]
  if (value === undefined || isDefaultOfNpm(key, value, env)) return undefined
  return key === 'PATH' ? pathFolders(value, (folder) => !addedByNpm.test(folder)).join(delimiter) : value
}

/** Where a program is found among what npm adds to the PATH; undefined if it is not found there first. */
function npmProgramFile(program: string, { PATH = '' }: NodeJS.ProcessEnv): string | undefined {
  const files = pathFolders(PATH, () => true).map((folder) => join(folder, program))
  const file = files.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  return file !== undefined && addedByNpm.test(file.slice(0, -program.length - 1)) ? file : undefined
}

function pathFolders(path: string, isWanted: (folder: string) => boolean): string[] {
  return path.split(delimiter).filter((folder) => folder !== '' && isWanted(folder))
}

/** Whether npm set this variable, for a program that it runs, to what applies without it. */
function isDefaultOfNpm(key: string, value: string, env: NodeJS.ProcessEnv): boolean {
  if (env.npm_execpath === undefined) return false
  const { HOME = '', npm_config_global_prefix: prefix = '' } = env
  const defaults: Readonly<Record<string, string>> = {
    npm_config_userconfig: join(HOME, '.npmrc'),
    npm_config_cache: join(HOME, '.npm'),
    npm_config_globalconfig: join(prefix, 'etc', 'npmrc'),
  }
  return defaults[key] === value
}
