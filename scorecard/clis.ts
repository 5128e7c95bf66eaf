import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/run.ts'
import type { Cli } from './types.ts'

interface CliPackage {
  /** The heading of its column. */
  label: string
  package: string
  /** The folder of the package. */
  folder: string
  /** The file that Node.js runs, relative to `folder`. */
  entry: string
  /** Arguments before those of a script. */
  prefixArgs: readonly string[]
  /** The reason, if it is not the newest version. */
  versionNote?: string
}

const peersFolder = join(root, 'scorecard/node_modules')

const packages: Readonly<Record<Cli, CliPackage>> = {
  jackfield: {
    label: 'jackfield',
    package: 'jackfield',
    folder: join(root, 'packages/app'),
    entry: 'bin/jackfield.js',
    prefixArgs: [],
  },
  inspector: {
    label: 'inspector --cli',
    package: '@modelcontextprotocol/inspector',
    folder: join(peersFolder, '@modelcontextprotocol/inspector'),
    entry: 'clients/launcher/build/index.js',
    prefixArgs: ['--cli'],
  },
  mcpdo: {
    label: 'mcpdo',
    package: '@modelcontextprotocol/inspector',
    folder: join(peersFolder, '@modelcontextprotocol/inspector'),
    entry: 'clients/mcpdo/build/mcp-bin.js',
    prefixArgs: [],
  },
  mcporter: {
    label: 'mcporter',
    package: 'mcporter',
    folder: join(peersFolder, 'mcporter'),
    entry: 'dist/cli.js',
    prefixArgs: [],
  },
  'mcp-use': {
    label: 'mcp-use',
    package: '@mcp-use/cli',
    folder: join(peersFolder, '@mcp-use/cli'),
    entry: 'dist/index.cjs',
    prefixArgs: [],
    versionNote:
      '3.6.7 is the newest version that contains its client. Version 4 (4.1.14 is the newest) installs `@mcp-use/client` on first use, and that package was not available.',
  },
  wong2: {
    label: 'wong2/mcp-cli',
    package: '@wong2/mcp-cli',
    folder: join(peersFolder, '@wong2/mcp-cli'),
    entry: 'src/cli.js',
    prefixArgs: [],
  },
}

/** All command lines, in the order of the columns. */
export const clis: readonly Cli[] = ['jackfield', 'inspector', 'mcpdo', 'mcporter', 'mcp-use', 'wong2']

/** The heading of the column of a command line. */
export function labelOf(cli: Cli): string {
  return packages[cli].label
}

/** Why a command line does not run in its newest version; undefined if it does. */
export function versionNoteOf(cli: Cli): string | undefined {
  return packages[cli].versionNote
}

/** The command that starts a command line with these arguments. */
export function commandOf(cli: Cli, args: readonly string[]): [string, ...string[]] {
  const { folder, entry, prefixArgs } = packages[cli]
  return [process.execPath, join(folder, entry), ...prefixArgs, ...args]
}

/** The package of a command line and its version; undefined if it is not installed. */
export function versionOf(cli: Cli): { package: string; version: string } | undefined {
  const { folder, package: name } = packages[cli]
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const version =
      typeof manifest === 'object' && manifest !== null && 'version' in manifest && manifest.version
    return typeof version === 'string' ? { package: name, version } : undefined
  } catch {
    return undefined
  }
}
