import { resolve } from 'node:path'
import type { OpenFolder, ServerConfig, ServerRoots } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { McpError } from '@jackfield/sdk'
import { ExitCode, isRejection, usageError } from '../cli/exit.ts'
import { openHost } from '../cli/host.ts'
import type { Io, Output } from '../cli/io.ts'
import { type ConfigChoice, readLayers } from '../cli/target.ts'
import { ago } from '../output/ago.ts'
import { fixesIn } from '../output/fixes.ts'
import { folderLines, pathOf, rootFindingLines } from '../output/folders.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface RootsOptions extends ConfigChoice {
  store?: string
  json?: boolean
  name?: string
}

/** Dependencies of a verb. */
export interface RootsContext {
  client: HostClient
  servers: Readonly<Record<string, ServerConfig>>
  io: Pick<Io, 'cwd'>
  output: Pick<Output, 'palette' | 'columns' | 'result'>
  options: Pick<RootsOptions, 'name'>
}

type Verb = (words: readonly string[], context: RootsContext) => Promise<void>

/** The verbs of `jackfield roots`. None of them starts a server. */
export const rootsVerbs = {
  show: async (words, { client, servers, output }) => {
    if (words.length > 0 && words.join(' ') !== 'list')
      throw usageError(
        `"${words[0]}" is unknown. Usage: jackfield roots [add|remove|exclude|include|preview|allow|deny|forget]`,
      )
    const [folders, serverRoots, excluded] = await Promise.all([
      client.call('roots.list', {}),
      client.call('roots.servers', {}),
      client.call('roots.excluded', {}),
    ])
    output.result({ folders, excluded, servers: serverRoots }, () =>
      overviewText(folders, excluded, serverRoots, servers, output),
    )
  },
  add: async (words, { client, io, output, options }) => {
    const folder = singleWord(words, 'add <folder>')
    const added = await client.call('roots.add', {
      folder: folderPath(folder, io),
      ...(options.name !== undefined && { name: options.name }),
    })
    output.result(added, () =>
      [
        `${pathOf(added.uri)} is open to servers that you allow it to.`,
        ...rootFindingLines(added.findings, output.palette),
      ].join('\n'),
    )
  },
  remove: async (words, { client, io, output }) => {
    const folder = folderPath(singleWord(words, 'remove <folder>'), io)
    const removed = await client.call('roots.remove', { folder })
    output.result({ folder, removed }, () =>
      removed
        ? `${oneLine(folder)} is no longer shared with any server.`
        : `${oneLine(folder)} is not open. See: jackfield roots`,
    )
  },
  exclude: async (words, { client, output }) => {
    const pattern = singleWord(words, 'exclude <pattern>')
    await client.call('roots.exclude', { pattern })
    output.result(
      { excluded: await client.call('roots.excluded', {}) },
      () => `Folders like ${oneLine(pattern)} are not shared with any server.`,
    )
  },
  include: async (words, { client, output }) => {
    const pattern = singleWord(words, 'include <pattern>')
    const done = await client.call('roots.include', { pattern })
    const excluded = await client.call('roots.excluded', {})
    output.result({ excluded }, () =>
      done
        ? `${oneLine(pattern)} is no longer excluded.`
        : `There is no such pattern. Patterns are: ${
            excluded.map((each) => oneLine(each)).join(', ') || 'none'
          }`,
    )
  },
  preview: async (words, { client, output }) => {
    const server = singleWord(words, 'preview <server>')
    const folders = await client.call('roots.preview', { server })
    output.result({ server, folders }, () =>
      folders.length === 0
        ? `${oneLine(server)} would see no folder. Open one with: jackfield roots add <folder>`
        : [`If you allow everything, ${oneLine(server)} sees:`, ...folderLines(folders, output.palette)].join(
            '\n',
          ),
    )
  },
  allow: async ([server, ...folders], { client, io, output }) => {
    if (server === undefined)
      throw usageError('Which server? Usage: jackfield roots allow <server> [folder...]')
    const places = folders.length === 0 ? undefined : folders.map((folder) => folderPath(folder, io))
    const roots = await client.call('roots.allow', {
      server,
      ...(places !== undefined && { folders: places }),
    })
    output.result({ server, roots }, () =>
      roots.length === 0
        ? `There is no folder to share with ${oneLine(server)}. Open one with: jackfield roots add <folder>`
        : `${oneLine(server)} may see: ${roots.map(({ uri }) => pathOf(uri)).join(', ')}`,
    )
  },
  deny: async (words, { client, output }) => {
    const server = singleWord(words, 'deny <server>')
    await client.call('roots.deny', { server })
    output.result({ server, roots: [] }, () => `No folder is shared with ${oneLine(server)}.`)
  },
  forget: async (words, { client, output }) => {
    const server = singleWord(words, 'forget <server>')
    const forgotten = await client.call('roots.forget', { server })
    output.result({ server, forgotten }, () =>
      forgotten
        ? `You will be asked again when ${oneLine(server)} requests folders.`
        : `There was no decision about ${oneLine(server)}.`,
    )
  },
} satisfies Record<string, Verb>

/** `jackfield roots [verb]` */
export async function roots(
  verb: keyof typeof rootsVerbs,
  words: readonly string[],
  options: RootsOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const config = await readLayers(options, io)
  await using open = await openHost(options, 'jackfield roots', io)
  try {
    await rootsVerbs[verb](words, { client: open.client, servers: config.servers, io, output, options })
  } catch (error) {
    throw error instanceof McpError && isRejection(error) ? usageError(error.message, fixesIn(error)) : error
  }
  return ExitCode.done
}

function overviewText(
  folders: readonly OpenFolder[],
  excluded: readonly string[],
  serverRoots: readonly ServerRoots[],
  servers: RootsContext['servers'],
  output: RootsContext['output'],
): string {
  const { palette } = output
  const parts: string[] = []
  if (folders.length === 0)
    parts.push('No folder is open to servers. Open one with: jackfield roots add <folder>')
  else {
    const rows = folders.map(({ uri, from, findings }) => [
      pathOf(uri),
      from,
      rootFindingLines(findings, palette).join('\n'),
    ])
    const cautious = folders.some(({ findings }) => findings.length > 0)
    const shown = cautious ? rows : rows.map((row) => row.slice(0, 2))
    parts.push(
      palette.dim(`${folders.length} open`),
      table(['FOLDER', 'FROM', ...(cautious ? ['WARNINGS'] : [])], shown, output),
    )
  }
  if (excluded.length > 0)
    parts.push('', `${palette.dim('excluded:')} ${excluded.map((each) => oneLine(each)).join('  ')}`)
  if (serverRoots.length > 0) {
    const rows = serverRoots.map(({ server, state, roots: known, asks, asked }) => [
      oneLine(server, 30),
      state,
      asked === undefined ? 'never' : ago(asked.at, Date.now()),
      state === 'ask'
        ? `you are asked about ${asks.length}`
        : known.map(({ uri }) => pathOf(uri)).join('\n') || 'none',
    ])
    parts.push('', table(['SERVER', 'STATE', 'ASKED', 'SHARED'], rows, output))
  }
  const requesting = serverRoots.filter(({ asked }) => asked !== undefined)
  if (requesting.length > 0) parts.push('', ...advice(requesting, servers, output))
  return parts.join('\n')
}

/** Revision 2026-07-28 deprecates roots; folders should be passed as arguments. */
function advice(
  requesting: readonly ServerRoots[],
  servers: RootsContext['servers'],
  { palette }: RootsContext['output'],
): string[] {
  const names = requesting.map(({ server }) => oneLine(server)).join(', ')
  const program = requesting.find(({ server }) => 'command' in (servers[server] ?? {}))
  return [
    `${palette.yellow('!')} ${names} still ${requesting.length === 1 ? 'requests' : 'request'} roots, which revision 2026-07-28 of the protocol deprecates.`,
    program === undefined
      ? '  Check whether the server accepts folders as tool arguments instead.'
      : `  Check whether it accepts folders as command line arguments instead, in the configuration of ${oneLine(program.server)}: "args": [..., "\${workspaceFolder}"]`,
  ]
}

function singleWord(words: readonly string[], usage: string): string {
  const [word, ...more] = words
  if (word === undefined || more.length > 0) throw usageError(`Usage: jackfield roots ${usage}`)
  return word
}

function folderPath(folder: string, { cwd }: RootsContext['io']): string {
  return /^(?:~(?:\/|$)|[a-z][a-z0-9+.-]+:)/i.test(folder) ? folder : resolve(cwd, folder)
}
