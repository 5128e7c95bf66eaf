import type { ServerConfig } from '../types/index.ts'
import type { Path } from './problem.ts'
import { partsOf } from './variables.ts'

/** What makes a configuration unusable. Texts with variables are judged as far as they are known. */
export function serverProblems(config: ServerConfig): { field: Path; message: string }[] {
  return 'url' in config ? httpProblems(config) : stdioProblems(config)
}

function stdioProblems(
  config: Extract<ServerConfig, { command: string }>,
): { field: Path; message: string }[] {
  const { command, args = [], env = {}, envFile, cwd } = config
  const problems: { field: Path; message: string }[] = []
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('='))
      problems.push({ field: ['env', name], message: 'is not a name a variable can have' })
  }
  for (const [name, value] of Object.entries({ command, cwd, envFile })) {
    if (value === '') problems.push({ field: [name], message: 'is empty' })
  }
  const texts: [Path, string | undefined][] = [
    [['command'], command],
    [['cwd'], cwd],
    [['envFile'], envFile],
    ...args.map((text, index): [Path, string] => [['args', index], text]),
    ...Object.entries(env).map(([name, text]): [Path, string] => [['env', name], text]),
  ]
  for (const [field, text] of texts) {
    if (text?.includes('\0')) problems.push({ field, message: 'has a NUL character in it' })
  }
  return problems
}

function httpProblems(config: Extract<ServerConfig, { url: string }>): { field: Path; message: string }[] {
  const problems: { field: Path; message: string }[] = []
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    try {
      new Headers([[name, value]])
    } catch {
      problems.push({ field: ['headers', name], message: 'is not a header that can be sent' })
    }
  }
  const message = urlProblem(config.url)
  if (message !== undefined) problems.push({ field: ['url'], message })
  return problems
}

function urlProblem(url: string): string | undefined {
  const read = partsOf(url)
  const [first] = 'parts' in read ? read.parts : []
  if (first !== undefined && first.kind !== 'text') return undefined
  const known =
    'parts' in read ? read.parts.map((part) => (part.kind === 'text' ? part.text : '1')).join('') : url
  const parsed = URL.parse(known)
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:'))
    return 'must be an http or https address'
  if (parsed.username !== '' || parsed.password !== '')
    return 'must not hold a name or password: use "headers"'
  return undefined
}
