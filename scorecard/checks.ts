import { stripVTControlCharacters } from 'node:util'
import { root } from '../scripts/run.ts'
import type { Absent, Check, Cli, ProcessResult, Script, Verdict, Workspace } from './types.ts'

/** The help texts that were read for features. */
export const helpSources: Readonly<Record<Cli, string>> = {
  jackfield: '`jackfield --help`',
  inspector: '`mcp-inspector --cli --help`',
  mcpdo: '`mcpdo --help` and `mcpdo agent-help`',
  mcporter: '`mcporter --help` and the help of its commands',
  'mcp-use': '`mcp-use client --help` and the help of its commands',
  wong2: '`mcp-cli --help`',
}

/** Ends a check with ✗ and this note. Any other error means that the script itself is broken. */
export class CheckFailed extends Error {}

/** ✓ if all conditions hold, otherwise ✗ with the note of the first that does not. */
export function judge(...conditions: [holds: boolean, note: string][]): Verdict {
  const failed = conditions.find(([holds]) => !holds)
  return failed === undefined ? { kind: 'yes' } : { kind: 'no', note: failed[1] }
}

/** The same check for every command line. */
export function everyCli(check: (workspace: Workspace, cli: Cli) => Promise<Verdict>): Script['checks'] {
  return checksBy((cli) => (workspace) => check(workspace, cli))
}

/** Checks for the command lines that have the feature; the help of the others does not mention it. */
export function onlyFor(checks: Partial<Script['checks']>, missing: string): Script['checks'] {
  return checksBy((cli) => checks[cli] ?? absentIn(cli, missing))
}

/** The same check for several command lines; the help of the others does not mention the feature. */
export function forClis<Some extends Cli>(
  clis: readonly Some[],
  check: (workspace: Workspace, cli: Some) => Promise<Verdict>,
  missing: string,
): Script['checks'] {
  const checks: Partial<Record<Cli, Check>> = {}
  for (const cli of clis) checks[cli] = (workspace) => check(workspace, cli)
  return onlyFor(checks, missing)
}

function checksBy(checkOf: (cli: Cli) => Check): Script['checks'] {
  return {
    jackfield: checkOf('jackfield'),
    inspector: checkOf('inspector'),
    mcpdo: checkOf('mcpdo'),
    mcporter: checkOf('mcporter'),
    'mcp-use': checkOf('mcp-use'),
    wong2: checkOf('wong2'),
  }
}

/** The verdict on a command line whose help does not mention the feature. */
export function absentIn(cli: Cli, missing: string): Absent {
  return { kind: 'absent', source: `${helpSources[cli]}: ${missing}` }
}

/** Standard output and standard error. */
export function outputOf({ stdout, stderr }: ProcessResult): string {
  return `${stdout}\n${stderr}`
}

/** Notices of mcp-inspector about its secret store, which concern no script. */
const secretStoreNotices = /^\[mcp-inspector\].*(?:secret|keychain|keyring).*$/gim

/** The exit code and the output as a note: one line, without paths and times, which differ in each run. */
export function summarize(result: ProcessResult, length = 160): string {
  const text = [result.stderr, result.stdout]
    .map((part) => stripVTControlCharacters(part).replace(secretStoreNotices, '').trim())
    .filter((part) => part !== '')
    .join(' ')
    .replaceAll(process.execPath, 'node')
    .replaceAll(root, '')
    .replace(/\/\S*\/scorecard-\w+/g, '…')
    .replace(/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '')
    .replace(/\bfile:\S+/g, '…')
    .replace(/\s+/g, ' ')
    .trim()
  const ending = result.timedOut ? 'did not exit' : `exit code ${result.code ?? result.signal}`
  if (text === '') return `${ending}, no output`
  return `${ending}: ${text.length > length ? `${text.slice(0, length)}…` : text}`
}
