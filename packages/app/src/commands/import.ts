import { homedir } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import {
  addServers,
  type DiscoveredServer,
  discoverServers,
  ownServers,
  type ServerConfig,
  userConfigFile,
  withoutSecrets,
} from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { secretStore } from '../cli/secrets.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

/**
 * `jackfield config import`: lists the servers of other applications, whose files are never written. Those named, or all with
 * `all`, are copied into the user's configuration; their secrets go to the secret store.
 */
export async function importServers(
  words: readonly string[],
  _options: object,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const home = io.env.HOME ?? homedir()
  const discovered = await discoverServers({ env: io.env, home }, (problem) => output.note(oneLine(problem)))
  if (words.length === 0) return show(discovered, output)
  const ownFile = userConfigFile(io.env, home)
  const present = await ownServers(ownFile)
  const chosen = words.includes('all') ? discovered : words.map((name) => pickServer(name, discovered))
  const imported: { name: string; from: string; secrets: string[] }[] = []
  const servers: Record<string, ServerConfig> = {}
  for (const { name, server, app } of chosen) {
    if (Object.hasOwn(present, name)) {
      if (words.includes('all')) continue
      throw usageError(`${ownFile} has a server "${oneLine(name)}" already. Rename one of them.`)
    }
    const { config, secrets } = withoutSecrets(name, server)
    const store = secretStore(io)
    for (const secret of secrets) await store.set(secret.name, secret.value)
    servers[name] = config
    imported.push({ name, from: app, secrets: secrets.map((secret) => secret.name) })
  }
  if (imported.length > 0) await addServers(ownFile, servers)
  output.result({ file: ownFile, imported: imported }, () =>
    [
      `${imported.length} ${imported.length === 1 ? 'server is' : 'servers are'} now in ${ownFile}.`,
      ...imported.map(({ name, from, secrets }) => {
        const stored =
          secrets.length === 0
            ? ''
            : `; stored as secrets: ${secrets.map((item) => oneLine(item)).join(', ')}`
        return `  ${oneLine(name)} from ${from}${stored}`
      }),
    ].join('\n'),
  )
  return ExitCode.done
}

function show(discovered: readonly DiscoveredServer[], output: Output): ExitCode {
  output.result(
    discovered.map(({ app, file, name }) => ({ name, app, file })),
    () => {
      const { palette } = output
      const heading = palette.dim(`${discovered.length} in other applications`)
      if (discovered.length === 0) return `${heading}\nNone of the known applications has servers here.`
      const rows = discovered.map(({ app, name, file }) => [oneLine(name), app, file])
      return `${heading}\n${table(['SERVER', 'APPLICATION', 'FILE'], rows, output)}\nCopy some with: jackfield config import NAME…, or all: jackfield config import all`
    },
  )
  return ExitCode.done
}

function pickServer(name: string, discovered: readonly DiscoveredServer[]): DiscoveredServer {
  const fits = discovered.filter((item) => item.name === name)
  const [first, ...others] = fits
  if (first === undefined)
    throw usageError(
      `No other application has a server "${oneLine(name)}". jackfield config import lists them.`,
    )
  const { from: _from, ...entry } = first.server
  const different = others.find(({ server: { from: _other, ...other } }) => !isDeepStrictEqual(other, entry))
  if (different !== undefined)
    throw usageError(
      `${first.app} and ${different.app} have different servers named "${oneLine(name)}". Copy the one you mean by hand.`,
    )
  return first
}
