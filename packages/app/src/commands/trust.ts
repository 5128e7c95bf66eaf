import type { Host, ServerTrust, TrustedItem, TrustItem, TrustService } from '@jackfield/host'
import { makeVisible } from '@jackfield/host/config'
import { McpError } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import type { Session } from '../cli/session.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, readLayers } from '../cli/target.ts'
import { ago } from '../output/ago.ts'
import { changeLines, findingLines } from '../output/definitions.ts'
import { fixesIn, withFixLines } from '../output/fixes.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface TrustOptions extends ConfigChoice {
  store?: string
  json?: boolean
  /** Connects the servers first, and fails if a definition changed since it was accepted. */
  check?: boolean
}

/** `jackfield trust [server]`: the trust state of servers, or of one in full. Starts nothing without `--check`. */
export async function trust(
  words: string[],
  options: TrustOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const [name, ...rest] = words
  if (rest.length > 0) throw usageError(`Too many words: ${rest.join(' ')}. Usage: jackfield trust [server]`)
  await using host = await createTrustHost(options, io)
  if (options.check === true) await host.start()
  io.signal.throwIfAborted()
  const shown = name === undefined ? host.trust.servers() : [trustOf(host.trust, name)]
  if (name === undefined) output.result({ servers: shown }, () => overviewText(shown, output))
  else output.result(shown[0], () => shown.map((server) => detailsText(server, output)).join('\n'))
  const unreached = options.check === true ? uncheckedServers(host, name) : []
  for (const line of unreached) output.note(`! ${line}`)
  const waiting = shown.some(({ items }) => items.some(({ state }) => state === 'quarantined'))
  if (options.check === true && waiting) return ExitCode.toolError
  return unreached.length > 0 ? ExitCode.cannotConnect : ExitCode.done
}

/** Servers that could not be reached for the check, with reasons. */
function uncheckedServers(host: Host, only: string | undefined): string[] {
  return [...host.connections].flatMap(([server, state]) =>
    'reason' in state && 'fixes' in state && (only === undefined || only === server)
      ? [withFixLines(`${oneLine(server)} was not checked: ${oneLine(state.reason)}`, state.fixes)]
      : [],
  )
}

/** `jackfield trust accept|block|reset <server> [item...]`: decides about the definitions last seen, and lists them. */
export async function decide(
  verb: 'accept' | 'block' | 'reset',
  [name, ...words]: string[],
  options: TrustOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  if (name === undefined) throw usageError(`Which server? Usage: jackfield trust ${verb} <server> [item...]`)
  await using host = await createTrustHost(options, io)
  const { server, items } = trustOf(host.trust, name)
  const chosen = words.length === 0 ? undefined : words.flatMap((word) => itemsNamed(word, server, items))
  const done = host.trust[verb](name, chosen)
  const past = { accept: 'accepted', block: 'blocked', reset: 'forgotten' }[verb]
  output.result({ server, [past]: done }, () => {
    if (done.length === 0) return `No definition of ${oneLine(server)} needs a decision.`
    const lines = done.map((item) => `  ${titleOf(item)}`)
    const after = verb === 'reset' ? '\nIts next definitions are pinned as on first use.' : ''
    return `${count(done.length, 'definition')} of ${oneLine(server)} ${past}:\n${lines.join('\n')}${after}`
  })
  return ExitCode.done
}

/** The disabled definitions of a server, of these kinds or all: name, reason, and the command that shows it. */
export function disabledDefinitions(
  { server, items }: ServerTrust,
  kinds?: readonly TrustItem['what'][],
): (TrustItem & { reason: string; look: string })[] {
  const reviewCommand = `jackfield trust ${oneLine(server)}`
  return items
    .filter(({ what, state, listed }) => state !== 'pinned' && listed && kinds?.includes(what) !== false)
    .map(({ what, name, state, changes, findings }) => {
      const danger = findings.find(({ severity }) => severity === 'danger')
      const isNew = changes.every(({ kind }) => kind === 'added')
      const waits = danger?.message ?? (isNew ? 'It is new.' : 'It changed since you accepted it.')
      return {
        what,
        name,
        reason: state === 'blocked' ? 'You blocked it.' : oneLine(waits),
        look: reviewCommand,
      }
    })
}

const maxLines = 10

/** The same with one line each; after ten, the count of the rest. */
export function disabledLines(server: ServerTrust, kinds?: readonly TrustItem['what'][]): string[] {
  const shown = oneLine(server.server)
  const all = disabledDefinitions(server, kinds)
  const lines = all.slice(0, maxLines).map(({ what, name, reason, look }) => {
    const use = `jackfield trust accept ${shown} ${oneLine(name)}`
    return `${titleOf({ what, name })} of ${shown} is disabled. ${reason} Review it with "${look}", then accept it with "${use}".`
  })
  const more = all.length - lines.length
  return more > 0 ? [...lines, `${more} more of ${shown}: see "jackfield trust ${shown}".`] : lines
}

/** Throws if a definition is disabled until the user accepts it, with the reason. */
export function refuseQuarantined(
  { trust, server }: Pick<Session, 'trust' | 'server'>,
  { what, name }: TrustItem,
): void {
  const item = trust.items.find((one) => one.what === what && one.name === name)
  if (item === undefined || item.state === 'pinned' || !item.listed) return
  const why = item.state === 'blocked' ? 'you blocked it' : 'it has not been accepted as it is now'
  const shown = oneLine(server)
  throw new CliError(
    ExitCode.outOfUse,
    `${titleOf(item)} of ${shown} is disabled: ${why}. Review it with "jackfield trust ${shown}", then accept it with "jackfield trust accept ${shown} ${oneLine(name)}".`,
  )
}

/** Throws if a list is empty because every definition in it is disabled until the user accepts it. */
export function refuseEmptyList(
  { trust, server }: Pick<Session, 'trust' | 'server'>,
  whats: readonly TrustItem['what'][],
): void {
  const quarantined = trust.items.filter(
    ({ what, state, listed }) => whats.includes(what) && listed && state !== 'pinned',
  )
  if (quarantined.length === 0) return
  const shown = oneLine(server)
  if (quarantined.every(({ changes }) => changes.every(({ kind }) => kind === 'added'))) {
    const reasons = disabledLines(trust)
    throw new CliError(ExitCode.outOfUse, `Nothing of ${shown} is listed.\n${reasons.join('\n')}`)
  }
  throw new CliError(
    ExitCode.outOfUse,
    `${shown} has other definitions than you accepted, so nothing of it is listed: ${count(quarantined.length, 'definition')} ${quarantined.length === 1 ? 'is' : 'are'} disabled. Another server may answer there now. See "jackfield trust ${shown}", then "jackfield trust accept ${shown}" or "jackfield trust block ${shown}".`,
  )
}

async function createTrustHost(options: TrustOptions, io: Io): Promise<Host> {
  const config = await readLayers(options, io)
  // Other commands use these functions without a host.
  const [{ makeHost }, { hostSettings }] = await Promise.all([
    import('../daemon/service.ts'),
    import('../cli/settings.ts'),
  ])
  return makeHost({
    ...hostSettings(config, options, io),
    servers: config.servers,
    models: [],
    store: storeFile(options.store, io),
    connect: { follow: false },
  })
}

function trustOf(service: TrustService, name: string): ServerTrust {
  try {
    return service.server(name)
  } catch (error) {
    if (error instanceof McpError) throw usageError(error.message, fixesIn(error))
    throw error
  }
}

function itemsNamed(word: string, server: string, items: readonly TrustedItem[]): TrustItem[] {
  const named = items.filter(({ what, name }) => name === word || `${what}:${name}` === word)
  if (named.length > 0) return named.map(({ what, name }) => ({ what, name }))
  const waiting = items.filter(({ state }) => state !== 'pinned').map(titleOf)
  const there =
    waiting.length === 0 ? 'Everything of it is pinned.' : `Not pinned are: ${waiting.join(', ')}.`
  throw usageError(`${oneLine(server)} has nothing named "${oneLine(word)}". ${there}`)
}

function overviewText(servers: readonly ServerTrust[], output: Output): string {
  if (servers.length === 0) {
    return 'No server is configured or known. Add one to .mcp.json, then run jackfield servers.'
  }
  const rows = servers.map((server) => {
    const { items, since } = server
    const countIn = (state: TrustedItem['state']): number =>
      items.filter((item) => item.state === state).length
    const findings = [...server.findings, ...items.flatMap((item) => item.findings)]
    const severeCount = findings.filter(({ severity }) => severity !== 'notice').length
    return [
      oneLine(server.server),
      stateOf(server),
      `${countIn('pinned')}`,
      `${countIn('quarantined')}`,
      `${countIn('blocked')}`,
      `${severeCount}`,
      since === undefined ? '' : ago(since, Date.now()),
      server.configured ? '' : `not configured, ${server.identity.slice(0, 12)}`,
    ]
  })
  const heads = ['SERVER', 'STATE', 'PINNED', 'DISABLED', 'BLOCKED', 'FINDINGS', 'FIRST SEEN', '']
  const waits = servers.some((server) => stateOf(server).startsWith('✗'))
  const next = waits
    ? `\n${output.palette.dim('jackfield trust <server> shows what changed; accept or block it there.')}`
    : ''
  return `${table(heads, rows, output)}${next}`
}

function stateOf({ items, since }: ServerTrust): string {
  if (since === undefined) return '· never seen'
  if (items.some(({ state }) => state === 'quarantined')) return '✗ changed'
  return '✓ accepted'
}

function detailsText(server: ServerTrust, output: Output): string {
  const { palette } = output
  const { items } = server
  const name = oneLine(server.server)
  const seen = server.since === undefined ? 'never seen' : `first seen ${ago(server.since, Date.now())}`
  const head = `${palette.bold(name)}  ${stateOf(server)}  ${palette.dim(`${seen}, identity ${server.identity.slice(0, 12)}`)}`
  if (server.since === undefined) {
    return `${head}\nIts definitions are pinned on its first connection, for example by jackfield tools ${name}.`
  }
  const waiting = items.filter(({ state }) => state === 'quarantined')
  const blocked = items.filter(({ state }) => state === 'blocked')
  const gone = items.filter(({ state, listed }) => state === 'pinned' && !listed)
  const pinned = items.filter(({ state, listed }) => state === 'pinned' && listed)
  const noted = [...server.findings, ...[...pinned, ...blocked].flatMap(({ findings }) => findings)]
  return [
    head,
    ...section(`Disabled until you accept it (${waiting.length})`, [
      ...findingLines(
        waiting.flatMap(({ findings }) => findings),
        palette,
      ),
      ...changeLines(
        waiting.flatMap(({ changes }) => changes),
        palette,
      ),
    ]),
    ...section(
      `Blocked (${blocked.length})`,
      blocked.map((item) => `  ${titleOf(item)}`),
    ),
    ...section(
      `No longer offered (${gone.length})`,
      gone.map((item) => `  ${titleOf(item)}`),
    ),
    ...section('Findings', findingLines(noted, palette)),
    ...section(
      `Pinned (${pinned.length})`,
      pinned.map((item) => `  ${titleOf(item)}`),
    ),
    ...(waiting.length === 0
      ? []
      : [
          '',
          palette.dim(
            `jackfield trust accept ${name} [item...] enables it, jackfield trust block ${name} [item...] keeps it disabled.`,
          ),
        ]),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines]
}

function titleOf({ what, name }: TrustItem): string {
  return what === name ? what : `${what} ${makeVisible(name).replace(/\s+/g, ' ')}`
}
