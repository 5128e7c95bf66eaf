import { type Installation, makeVisible, type NeededValue } from '@jackfield/host'
import { findingLines } from './definitions.ts'
import type { Palette } from './palette.ts'
import { oneLine } from './sanitize.ts'

/** The effects of an installation in order of importance: publisher, command, access, warnings. */
export function installationLines(plan: Installation['plan'], file: string, palette: Palette): string[] {
  const { name, publisher, version, command, needs } = plan
  const isAddress = /^https?:/i.test(command)
  const who = [
    palette.bold(oneLine(name)),
    ...(version === undefined ? [] : [oneLine(version)]),
    ...(publisher === undefined ? [] : [`by ${oneLine(publisher)}`]),
  ].join(' ')
  const line = (label: string, texts: readonly string[]): string[] =>
    texts.length === 0 ? [] : [`${palette.dim(label)} ${texts.map((text) => oneLine(text)).join(', ')}`]
  const asked = new Set(needs.map(({ id }) => id))
  const secrets = new Set(needs.flatMap(({ id, secret }) => (secret === undefined ? [] : [`env.${id}`])))
  return [
    `${who} ${isAddress ? 'would be contacted at' : 'would run on this machine, as you:'}`,
    ...makeVisible(command)
      .split('\n')
      .map((text) => `  ${text}`),
    ...line(
      isAddress ? 'with the headers' : 'with the variables',
      plan.given.filter(({ name }) => !asked.has(name)).map((one) => `${one.name}=${one.value}`),
    ),
    ...line('with your values for', needs.map(neededValueText)),
    ...findingLines(
      plan.findings.filter(
        ({ code, severity, at }) => !(severity === 'notice' && code === 'gets-a-secret' && secrets.has(at)),
      ),
      palette,
    ),
    ...line('written to', [file]),
  ]
}

function neededValueText({ id, secret, required }: NeededValue): string {
  const kind = [...(secret === undefined ? [] : ['secret']), ...(required ? [] : ['optional'])]
  return kind.length === 0 ? id : `${id} (${kind.join(', ')})`
}
