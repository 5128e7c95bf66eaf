import { stripVTControlCharacters } from 'node:util'
import { root } from '../scripts/run.ts'
import type { Desk, Fixture, Ran, RunOptions, Script, Tool, Verdict } from './types.ts'

/** A server as configuration files name it. */
export type Entry = Pick<Fixture, 'command' | 'args' | 'url'>

/** Words that every script says about a tool that has no such thing. */
export const helpOf = {
  inspector: '`mcp-inspector --cli --help`',
  mcpdo: '`mcpdo --help` and `mcpdo agent-help`',
  mcporter: '`mcporter --help` and the help of its commands',
  'mcp-use': '`mcp-use client --help` and the help of its commands',
  wong2: '`mcp-cli --help`',
} as const

/** The same check of every tool, and what those that are not put to it are said to lack. */
export function everyTool(
  check: (desk: Desk, tool: Tool) => Promise<Verdict>,
  except: Partial<Script['tools']> = {},
): Script['tools'] {
  const own = (tool: Tool): Script['tools'][Tool] => except[tool] ?? ((desk) => check(desk, tool))
  const [jackfield, inspector, mcpdo] = [own('jackfield'), own('inspector'), own('mcpdo')]
  return {
    jackfield,
    inspector,
    mcpdo,
    mcporter: own('mcporter'),
    'mcp-use': own('mcp-use'),
    wong2: own('wong2'),
  }
}

/** Scripts that only some tools have a way to: the others, with what their help lacks. */
export function onlyFor(
  checks: Partial<Record<Tool, (desk: Desk) => Promise<Verdict>>>,
  lacking: string,
): Script['tools'] {
  const own = (tool: Exclude<Tool, 'jackfield'>): Script['tools'][Tool] =>
    checks[tool] ?? { kind: 'absent', source: `${helpOf[tool]}: ${lacking}` }
  return {
    jackfield: checks.jackfield ?? { kind: 'absent', source: `\`jackfield --help\`: ${lacking}` },
    inspector: own('inspector'),
    mcpdo: own('mcpdo'),
    mcporter: own('mcporter'),
    'mcp-use': own('mcp-use'),
    wong2: own('wong2'),
  }
}

/** ✓ where all of it holds, else ✗ with what the first that does not says. */
export function verdict(...conditions: [holds: boolean, otherwise: string][]): Verdict {
  const failed = conditions.find(([holds]) => !holds)
  return failed === undefined ? { kind: 'yes' } : { kind: 'no', note: failed[1] }
}

/** Writes the servers in the form that all tools but mcp-use read (its servers are connected by name), and returns the file's path. */
export function configure(
  desk: Desk,
  servers: Record<string, Entry>,
  more: Record<string, unknown> = {},
): Promise<string> {
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, { command, args, url }]) => [
      name,
      url === undefined
        ? { command, args }
        : url.endsWith('/sse')
          ? { type: 'sse', url }
          : { type: 'streamable-http', url },
    ]),
  )
  return desk.write('servers.json', JSON.stringify({ mcpServers, ...more }, null, 2))
}

/** One call of a tool of the server `shop`, the way each command line documents it, its arguments as JSON. */
export async function callOf(
  desk: Desk,
  tool: Tool,
  server: Entry,
  [name, args]: [name: string, args: Record<string, unknown>],
  { flags = [], ...options }: RunOptions & { flags?: string[] } = {},
): Promise<Ran> {
  const json = JSON.stringify(args)
  const file = await configure(desk, { shop: server })
  switch (tool) {
    case 'jackfield':
      return desk.run(tool, ['call', 'shop', name, '--args', json, '--config', file, ...flags], options)
    case 'inspector': {
      const method = ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', json]
      const words = ['--config', file, '--server', 'shop', '--protocol-era', 'auto', ...method, ...flags]
      return desk.run(tool, words, options)
    }
    case 'mcpdo': {
      const connected = await connectMcpdo(desk, file, options)
      if (connected.code !== 0) return connected
      return desk.run(tool, ['@shop', 'tools/call', name, json, ...flags], options)
    }
    case 'mcporter':
      return desk.run(tool, ['call', `shop.${name}`, '--args', json, '--config', file, ...flags], options)
    case 'mcp-use': {
      const connected = await connectMcpUse(desk, server, options)
      if (connected.code !== 0) return connected
      return desk.run(tool, ['client', 'shop', 'tools', 'call', name, json, ...flags], options)
    }
    case 'wong2':
      return desk.run(
        tool,
        ['--config', file, 'call-tool', `shop:${name}`, '--args', json, ...flags],
        options,
      )
  }
}

/** The list of tools of the server `shop`; wong2's command line has none without a terminal. */
export async function listOf(
  desk: Desk,
  tool: Exclude<Tool, 'wong2'>,
  server: Entry,
  { flags = [], ...options }: RunOptions & { flags?: string[] } = {},
): Promise<Ran> {
  const file = await configure(desk, { shop: server })
  switch (tool) {
    case 'jackfield':
      return desk.run(tool, ['tools', 'shop', '--config', file, ...flags], options)
    case 'inspector': {
      const words = ['--config', file, '--server', 'shop', '--protocol-era', 'auto', '--method', 'tools/list']
      return desk.run(tool, [...words, ...flags], options)
    }
    case 'mcpdo': {
      const connected = await connectMcpdo(desk, file, options)
      if (connected.code !== 0) return connected
      return desk.run(tool, ['@shop', 'tools/list', ...flags], options)
    }
    case 'mcporter':
      return desk.run(tool, ['list', 'shop', '--config', file, ...flags], options)
    case 'mcp-use': {
      const connected = await connectMcpUse(desk, server, options)
      if (connected.code !== 0) return connected
      return desk.run(tool, ['client', 'shop', 'tools', 'list', ...flags], options)
    }
  }
}

/** mcpdo keeps connections in a daemon; the desk ends it with everything else. */
export function connectMcpdo(
  desk: Desk,
  config: string,
  { flags = [], ...options }: RunOptions & { flags?: string[] } = {},
): Promise<Ran> {
  return desk.run('mcpdo', ['connect', 'shop', '--config', config, '--era', 'auto', ...flags], options)
}

/** mcp-use keeps what is connected under a name in the home folder. */
export function connectMcpUse(
  desk: Desk,
  { command, args, url }: Entry,
  options: RunOptions = {},
): Promise<Ran> {
  const target = url === undefined ? ['--stdio', [command, ...args].join(' ')] : [url, '--no-oauth']
  return desk.run('mcp-use', ['client', 'connect', 'shop', ...target], options)
}

/** Lines of mcp-inspector about where it keeps secrets, which are no part of what a script is about. */
const asides = /^\[mcp-inspector\].*(?:secret|keychain|keyring).*$/gim

/** What a tool said, as a note: one line, without places and times that differ from run to run. */
export function saying(ran: Ran, length = 160): string {
  const text = [ran.stderr, ran.stdout]
    .map((part) => stripVTControlCharacters(part).replace(asides, '').trim())
    .filter((part) => part !== '')
    .join(' ')
    .replaceAll(process.execPath, 'node')
    .replaceAll(root, '')
    .replace(/\/\S*\/scorecard-\w+/g, '…')
    .replace(/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '')
    .replace(/\bfile:\S+/g, '…')
    .replace(/\s+/g, ' ')
    .trim()
  const ended = ran.timedOut ? 'did not end' : `exit code ${ran.code ?? ran.signal}`
  return text === ''
    ? `${ended}, silent`
    : `${ended}: ${text.length > length ? `${text.slice(0, length)}…` : text}`
}
