import { hostname } from 'node:os'

/** Patterns of browsers in `User-Agent`, the most specific first: most browsers also name those that they are compatible with. */
const browsers: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChromium\//, 'Chromium'],
  [/\b(?:Headless)?Chrome\//, 'Chrome'],
  [/\bVersion\/\S+ (?:Mobile\/\S+ )?Safari\//, 'Safari'],
]
const maxHostnameCharacters = 60

/**
 * What a browser is called in lists and in the activity log: `Firefox on lapis`. No text of the header becomes part of it, so
 * that it cannot imitate another client.
 */
export function browserName(userAgent: string | undefined, machine: string = hostname()): string {
  const browser = browserKind(userAgent)
  const machineName = machine.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, maxHostnameCharacters)
  return `${browser} on ${machineName === '' ? 'this machine' : machineName}`
}

/** The name of a browser alone, for one that runs on an unknown machine. */
export function browserKind(userAgent: string | undefined): string {
  return browsers.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1] ?? 'a browser'
}
