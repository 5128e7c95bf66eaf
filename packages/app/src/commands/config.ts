import { relative } from 'node:path'
import {
  type ExplainedField,
  explainServers,
  explainSettings,
  type Host,
  type LayeredConfig,
  type ServerConfig,
  type ServerOrigin,
} from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, hasErrors, problemLine, readLayers } from '../cli/target.ts'
import { makeHost } from '../daemon/service.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface ConfigCommandOptions extends ConfigChoice {
  store?: string
  json?: boolean
}

export interface AllowOptions extends ConfigCommandOptions {
  all?: boolean
}

/** A server for display: secrets are replaced by their names. */
interface ListedServer {
  name: string
  what: string
  origin: ServerOrigin
  state: string
}

/** `jackfield config`: every server with its definition, source file and pending decisions. */
export async function listConfig(
  _words: readonly string[],
  options: ConfigCommandOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const config = await readLayers(options, io)
  await using host = createIdleHost(config, options, io)
  const listed = await Promise.all(
    Object.entries(config.servers).flatMap(([name, server]) => {
      const origin = config.origins[name]
      return origin === undefined ? [] : [listedServer(name, server, origin, host)]
    }),
  )
  const missing = await host.secrets.missing().catch(() => [])
  for (const entry of listed) {
    const wanted = missing.filter(({ server }) => server === entry.name)
    if (entry.state === 'on' && wanted.length > 0)
      entry.state = `needs ${wanted.map(({ input }) => input.id).join(', ')}`
  }
  const problems = config.problems.map((problem) => ({
    ...problem,
    message: host.secrets.redact(problem.message),
  }))
  output.result(
    {
      files: config.files,
      profiles: config.profiles,
      servers: listed.map(({ name, what, origin, state }) => ({
        name,
        what,
        state,
        ...originFields(origin),
      })),
      problems,
    },
    () => {
      const { palette } = output
      const heading = `${count(listed.length, 'server')} in ${count(config.files.length, 'file')}`
      const rows = listed.map(({ name, what, origin, state }) => [
        oneLine(name),
        oneLine(state, 40),
        `${shortPath(origin.file, io)}${origin.line === undefined ? '' : `:${origin.line}`} (${origin.layer})`,
        oneLine(what, 100),
      ])
      const parts = [palette.dim(heading)]
      if (rows.length > 0) parts.push(table(['SERVER', 'STATE', 'FROM', 'WHAT'], rows, output))
      else if (!hasErrors(config))
        parts.push('Add one to .mcp.json, or list those of your other applications: jackfield config import')
      if (problems.length > 0) {
        parts.push('', palette.dim(count(problems.length, 'remark')))
        for (const problem of problems)
          parts.push(
            `${problem.severity === 'error' ? palette.red('✗') : palette.yellow('!')} ${problemLine(problem)}`,
          )
      }
      return parts.join('\n')
    },
  )
  return hasErrors(config) ? ExitCode.usage : ExitCode.done
}

/** `jackfield config explain [server]`: file and line of every field, and overridden values. */
export async function explainConfig(
  words: readonly string[],
  options: ConfigCommandOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const config = await readLayers(options, io)
  await using host = createIdleHost(config, options, io)
  const names = words.length > 0 ? words : Object.keys(config.servers)
  const unknown = names.find((name) => config.origins[name] === undefined)
  if (unknown !== undefined) throw unknownServer(unknown, config)
  if (names.length === 0)
    output.note('No server is configured. jackfield config shows where one can be added.')
  const explained = explainServers(config, (text) => host.secrets.redact(text), names)
  const settings = words.length > 0 ? [] : explainSettings(config)
  const { palette } = output
  const at = (place: string, row: number | undefined): string =>
    `${shortPath(place, io)}${row === undefined ? '' : `:${row}`}`
  const tableOf = (fields: readonly ExplainedField[]): string =>
    table(
      ['FIELD', 'VALUE', 'FROM', 'PATH'],
      fields.map(({ field, value, file, line, path }) => [
        oneLine(field),
        oneLine(value, 60),
        at(file, line),
        oneLine(path),
      ]),
      output,
    )
  const all = settings.length === 0 ? explained : [...explained, { settings }]
  output.result(words.length === 1 ? explained[0] : all, () => {
    const servers = explained.map(({ name, file, line, format, layer, fields, overridden }) => {
      const head = `${palette.bold(oneLine(name))}  ${palette.dim(`${at(file, line)}, ${format}, ${layer}`)}`
      const lost = overridden.map(
        (other) => `  also in ${at(other.file, other.line)} (${other.layer}), which is not used`,
      )
      return [head, tableOf(fields), ...lost].join('\n')
    })
    const more = settings.length === 0 ? [] : [`${palette.bold('for all servers')}\n${tableOf(settings)}`]
    return [...servers, ...more].join('\n\n')
  })
  return ExitCode.done
}

/** `jackfield config allow <server...>`: allows servers from files of this folder to start. */
export async function allowServer(
  words: readonly string[],
  options: AllowOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const config = await readLayers(options, io)
  const names = chosenServers(words, options, config)
  await using host = createIdleHost(config, options, io)
  const allowed: { server: string; allowed: true; changed: boolean }[] = []
  for (const name of names)
    allowed.push(await allowOne(name, 'url' in (config.servers[name] ?? {}), host, output))
  output.result(allowed.length === 1 && options.all !== true ? allowed[0] : { servers: allowed }, () =>
    allowed
      .map(({ server, changed }) =>
        changed
          ? `${oneLine(server)} may be started from now on, as long as it does not change. Revoke this with: jackfield config forbid ${oneLine(server)}`
          : `${oneLine(server)} was already allowed to start.`,
      )
      .join('\n'),
  )
  return ExitCode.done
}

async function allowOne(name: string, isAddress: boolean, host: Host, output: Output) {
  const needed = await host.consents.needed(name)
  if (needed === undefined) return { server: name, allowed: true as const, changed: false }
  const { file, command, program, given, findings, before } = needed
  output.note(`${oneLine(name)} of ${file} ${isAddress ? 'is at' : 'runs'}:`)
  output.note(`  ${oneLine(command)}`)
  if (program !== undefined) output.note(`The program is: ${oneLine(program)}`)
  if (before !== undefined) output.note(`You agreed to this before:\n  ${oneLine(before)}`)
  if (given.length > 0) output.note('It receives:')
  for (const { name, value } of given) output.note(`  ${oneLine(`${name}=${value}`)}`)
  for (const finding of findings) output.note(`${finding.severity}: ${oneLine(finding.message)}`)
  await host.consents.allow(name, 'the command line')
  return {
    server: name,
    allowed: true as const,
    changed: true,
    command,
    ...(program !== undefined && { program }),
    given,
    findings,
  }
}

/** `jackfield config forbid <server...>`: revokes that permission. */
export async function forbidServer(
  words: readonly string[],
  options: AllowOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const config = await readLayers(options, io)
  const names = chosenServers(words, options, config)
  await using host = createIdleHost(config, options, io)
  const done = names.map((name) => ({ server: name, forgotten: host.consents.forget(name) }))
  output.result(done.length === 1 && options.all !== true ? done[0] : { servers: done }, () =>
    done
      .map(({ server, forgotten }) =>
        forgotten === 0
          ? `You had not agreed to ${oneLine(server)}.`
          : `${oneLine(server)} needs your approval again before it is started.`,
      )
      .join('\n'),
  )
  return ExitCode.done
}

/** The named servers, or all with --all. Throws before any decision if one is unknown. */
function chosenServers(
  words: readonly string[],
  { all }: AllowOptions,
  config: LayeredConfig,
): readonly string[] {
  if (all === true && words.length > 0) throw usageError('Give names or --all, not both.')
  if (all !== true && words.length === 0)
    throw usageError(
      'Which server? Name some, or give --all. jackfield config lists those that need approval.',
    )
  const unknown = words.find((name) => !Object.hasOwn(config.servers, name))
  if (unknown !== undefined) throw unknownServer(unknown, config)
  return all === true ? Object.keys(config.servers) : words
}

/** A host with the configured servers, of which it starts none. */
function createIdleHost(config: LayeredConfig, options: ConfigCommandOptions, io: Io): Host {
  return makeHost({
    ...hostSettings(config, options, io),
    servers: config.servers,
    models: [],
    store: storeFile(options.store, io),
  })
}

async function listedServer(
  name: string,
  server: ServerConfig,
  origin: ServerOrigin,
  host: Host,
): Promise<ListedServer> {
  const what = 'url' in server ? server.url : [server.command, ...(server.args ?? [])].join(' ')
  const state =
    server.disabled === true
      ? 'off'
      : (await host.consents.needed(name)) === undefined
        ? 'on'
        : 'needs approval'
  return { name, what: host.secrets.redact(what), origin, state }
}

function originFields({ file, line, layer, format }: ServerOrigin): object {
  return { file, ...(line !== undefined && { line }), layer, format }
}

function shortPath(file: string, io: Io): string {
  const inside = relative(io.cwd, file)
  const home = io.env.HOME
  if (inside !== '' && !inside.startsWith('..')) return inside
  return home !== undefined && file.startsWith(`${home}/`) ? `~${file.slice(home.length)}` : file
}

function unknownServer(name: string, config: LayeredConfig): Error {
  const known = Object.keys(config.servers)
  const has = known.length === 0 ? 'There are none.' : `There are: ${known.join(', ')}.`
  return usageError(`There is no server "${oneLine(name)}". ${has}`)
}
