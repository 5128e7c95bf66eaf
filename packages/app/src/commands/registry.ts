import { createRegistry, planFrom, type RegistryServer } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { registryOptions } from '../cli/registry.ts'
import { findingLines } from '../output/definitions.ts'
import { count, oneLine, plain } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface RegistryCommandOptions {
  registry?: string
  limit?: number
  cursor?: string
  json?: boolean
}

/** `jackfield registry search <words...>` */
export async function searchRegistry(
  words: readonly string[],
  options: RegistryCommandOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const registry = createRegistry(registryOptions(options, io))
  const { servers, nextCursor } = await registry.search(words.join(' '), {
    signal: io.signal,
    ...(options.limit !== undefined && { limit: options.limit }),
    ...(options.cursor !== undefined && { cursor: options.cursor }),
  })
  output.result({ registry: registry.url, servers: servers.map(summary), nextCursor }, () => {
    const heading = output.palette.dim(`${count(servers.length, 'server')} in ${registry.url}`)
    if (servers.length === 0) return `${heading}\nNo match. Try fewer words: only names are searched.`
    const rows = servers.map(({ name, version, kinds, description }) => [
      oneLine(name),
      oneLine(version),
      oneLine(kinds.join(', ')),
      oneLine(description),
    ])
    const next = nextCursor === undefined ? [] : [`More: add --cursor ${oneLine(nextCursor)}`]
    return [
      heading,
      table(['NAME', 'VERSION', 'KIND', 'DESCRIPTION'], rows, output),
      ...next,
      'Install one with: jackfield install NAME',
    ].join('\n')
  })
  return ExitCode.done
}

/** `jackfield registry show <name>[@version]` */
export async function showRegistry(
  nameAndVersion: string | undefined,
  options: RegistryCommandOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (nameAndVersion === undefined)
    throw usageError('Which server? Usage: jackfield registry show <name>[@version]')
  const [, name = nameAndVersion, requestedVersion] = /^(.+?)@([^@/]+)$/.exec(nameAndVersion) ?? []
  const registry = createRegistry(registryOptions(options, io))
  const server = await registry.show(name, {
    signal: io.signal,
    ...(requestedVersion !== undefined && { version: requestedVersion }),
  })
  output.result(server.document, () => {
    const { palette } = output
    const line = (label: string, text: string): string => `${palette.dim(label.padEnd(10))} ${oneLine(text)}`
    return [
      palette.bold(oneLine(server.name)),
      plain(server.description),
      line('version', `${server.version}${server.isLatest === false ? ' (not the latest)' : ''}`),
      ...(server.status === undefined ? [] : [line('status', server.status)]),
      ...(server.publishedAt === undefined ? [] : [line('published', server.publishedAt)]),
      ...(server.repository === undefined ? [] : [line('source', server.repository)]),
      ...planLines(server, output),
    ].join('\n')
  })
  return ExitCode.done
}

function planLines(server: RegistryServer, output: Output): string[] {
  const { palette } = output
  try {
    const plan = planFrom(server.document)
    const needs = plan.needs.map(({ id, secret }) => (secret === undefined ? id : `${id} (secret)`))
    return [
      `${palette.dim('runs'.padEnd(10))} ${oneLine(plan.command)}`,
      ...(plan.given.length === 0
        ? []
        : [
            `${palette.dim('is given'.padEnd(10))} ${oneLine(plan.given.map(({ name, value }) => `${name}=${value}`).join(', '))}`,
          ]),
      ...(needs.length === 0 ? [] : [`${palette.dim('asks for'.padEnd(10))} ${oneLine(needs.join(', '))}`]),
      ...findingLines(plan.findings, palette),
      `Install it with: jackfield install ${oneLine(server.name)}`,
    ]
  } catch (error) {
    return [oneLine(error instanceof Error ? error.message : String(error))]
  }
}

function summary({ document: _document, ...rest }: RegistryServer): object {
  return rest
}
