import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/run.ts'
import type { Tool } from './types.ts'

interface Installed {
  /** How a column of the page calls it. */
  label: string
  package: string
  /** The folder of the package. */
  at: string
  /** The program that Node runs, under that folder. */
  entry: string
  /** Words that stand before all others. */
  first: readonly string[]
  /** Why it is this version, where it is not the newest. */
  remark?: string
}

const others = join(root, 'scorecard/node_modules')

const installed: Readonly<Record<Tool, Installed>> = {
  jackfield: {
    label: 'jackfield',
    package: 'jackfield',
    at: join(root, 'packages/app'),
    entry: 'bin/jackfield.js',
    first: [],
  },
  inspector: {
    label: 'inspector --cli',
    package: '@modelcontextprotocol/inspector',
    at: join(others, '@modelcontextprotocol/inspector'),
    entry: 'clients/launcher/build/index.js',
    first: ['--cli'],
  },
  mcpdo: {
    label: 'mcpdo',
    package: '@modelcontextprotocol/inspector',
    at: join(others, '@modelcontextprotocol/inspector'),
    entry: 'clients/mcpdo/build/mcp-bin.js',
    first: [],
  },
  mcporter: {
    label: 'mcporter',
    package: 'mcporter',
    at: join(others, 'mcporter'),
    entry: 'dist/cli.js',
    first: [],
  },
  'mcp-use': {
    label: 'mcp-use',
    package: '@mcp-use/cli',
    at: join(others, '@mcp-use/cli'),
    entry: 'dist/index.cjs',
    first: [],
    remark:
      'Version 4 (4.1.14 is the newest) installs `@mcp-use/client` when it is first used, and that package could not be had; 3.6.7 is the newest that brings its client along.',
  },
  wong2: {
    label: 'wong2/mcp-cli',
    package: '@wong2/mcp-cli',
    at: join(others, '@wong2/mcp-cli'),
    entry: 'src/cli.js',
    first: [],
  },
}

/** All tools, in the order of the columns. */
export const tools: readonly Tool[] = ['jackfield', 'inspector', 'mcpdo', 'mcporter', 'mcp-use', 'wong2']

/** How a column of the page calls a tool. */
export function labelOf(tool: Tool): string {
  return installed[tool].label
}

/** Why a tool is not put to the scripts in its newest version, where it is not. */
export function remarkOn(tool: Tool): string | undefined {
  return installed[tool].remark
}

/** The command of a tool, ready to be started. */
export function commandOf(tool: Tool, args: readonly string[]): [string, ...string[]] {
  const { at, entry, first } = installed[tool]
  return [process.execPath, join(at, entry), ...first, ...args]
}

/** The package of a tool and its version; undefined where it is not installed. */
export function versionOf(tool: Tool): { package: string; version: string } | undefined {
  const { at, package: name } = installed[tool]
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'))
    const version =
      typeof manifest === 'object' && manifest !== null && 'version' in manifest && manifest.version
    return typeof version === 'string' ? { package: name, version } : undefined
  } catch {
    return undefined
  }
}
