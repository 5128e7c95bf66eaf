import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Host, type LayeredConfig, type Surface, serveGateways, type UserGateway } from '@jackfield/host'
import { matchesGlob } from '@jackfield/host/config'
import { McpError } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { backplaneVariable, openBackplane, readKeys } from '../cli/backplane.ts'
import { ExitCode, usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import { type Io, isInteractive, type Output } from '../cli/io.ts'
import { credentialStore } from '../cli/secrets.ts'
import { modelsFor, surfaceFor } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, readConfig } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { makeHost } from '../daemon/service.ts'
import { noteWithFixes } from '../output/fixes.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { deferringSurface } from '../surface/deferring.ts'

export interface GatewayCommandOptions extends ConfigChoice {
  http?: string
  stdio?: boolean
  only?: string[]
  users?: string
  allowHost?: string[]
  backplane?: string
  keys?: string
  health?: string
  store?: string
}

const ownerName = 'owner'
const userName = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$/

/** `jackfield gateway`: serves every configured server as one server, until Ctrl+C. */
export async function gateway(options: GatewayCommandOptions, io: Io, output: Output): Promise<ExitCode> {
  const { http, stdio } = options
  if (http !== undefined && stdio === true) throw usageError('Choose one of --stdio and --http.')
  if (http === undefined) {
    for (const name of ['users', 'backplane', 'keys', 'health'] as const) {
      if (options[name] !== undefined) throw usageError(`--${name} needs --http.`)
    }
  }
  const { config } = await readConfig(options, io, (text) => output.note(text))
  return http === undefined
    ? serveOverStdio(config, options, io, output)
    : serveOverHttp(http, config, options, io, output)
}

async function serveOverStdio(
  config: LayeredConfig,
  options: GatewayCommandOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const opened = await openGateway({
    config,
    options,
    io,
    output,
    surface: deferringSurface(output, options),
  })
  try {
    if (isInteractive(io))
      output.note(
        'Serving MCP on stdin and stdout, for an application that starts this command; for other clients, see --http. Ctrl+C ends it.',
      )
    const served = serveStdio(opened.server, { input: io.stdin, output: io.stdout })
    const stop = (): void => void served.close()
    io.signal.addEventListener('abort', stop, { once: true })
    if (io.signal.aborted) stop()
    await served.closed
    return ExitCode.done
  } finally {
    await opened.close()
  }
}

async function serveOverHttp(
  http: string,
  config: LayeredConfig,
  options: GatewayCommandOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const place = parseAddress(http)
  const keys = options.keys === undefined ? undefined : await readKeys(options.keys)
  if (options.health !== undefined && !/^\/[\w./-]*[\w-]$/.test(options.health))
    throw usageError(`"${options.health}" is not a path. Write --health /healthz.`)
  const backplaneUrl = options.backplane ?? (io.env[backplaneVariable] || undefined)
  if (backplaneUrl !== undefined && (keys === undefined || options.users === undefined))
    throw usageError(
      `A gateway with a backplane (--backplane, or ${backplaneVariable}) needs --users and --keys, the same ones on all of its nodes.`,
    )
  const tokens =
    options.users === undefined
      ? { [ownerName]: randomBytes(24).toString('base64url') }
      : await readTokens(options.users)
  // A store that cannot be opened ends the command here, before the first request. With several users, only requests of that user
  // are rejected.
  if (options.users === undefined) {
    await makeHost({ servers: {}, models: [], store: storeFile(options.store, io) }).close()
  }
  const person = surfaceFor(io)
  const surface = person ?? deferringSurface(output, options)
  const onWarning = (message: string): void => output.note(`! ${oneLine(message)}`)
  const backplane = backplaneUrl === undefined ? undefined : await openBackplane(backplaneUrl, onWarning)
  const gatewayServer = await serveGateways({
    ...place,
    tokens,
    ...(keys !== undefined && { keys }),
    ...(backplane !== undefined && { backplane }),
    ...(options.health !== undefined && { health: options.health }),
    ...(options.allowHost !== undefined && { allowedHosts: options.allowHost }),
    open: (user) => openGateway({ config, options, io, output, surface, user }),
    onWarning,
  }).catch(async (error: unknown) => {
    await backplane?.close()
    if (error instanceof McpError && error.code === 'CONNECT_FAILED') throw usageError(error.message)
    throw error
  })
  try {
    if (!/^(?:localhost|127\.|::1$)/.test(place.host))
      output.note(
        `! ${oneLine(place.host)} is reachable from other machines over plain HTTP: tokens and all other data can be read in transit. Put a proxy with TLS in front of it, or listen on 127.0.0.1.`,
      )
    output.note(`The gateway listens at ${gatewayServer.url}. Ctrl+C ends it.`)
    if (options.users === undefined)
      output.note(`Clients send: Authorization: Bearer ${tokens[ownerName] ?? ''}`)
    else output.note(`Users: ${Object.keys(tokens).join(', ')}`)
    if (!isInteractive(io)) output.note('Questions to you wait in the inbox: jackfield inbox')
    await new Promise<void>((resolve) => {
      if (io.signal.aborted) resolve()
      io.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    return ExitCode.done
  } finally {
    if (backplane === undefined) await gatewayServer.close()
    else {
      output.note('Waiting for running requests. Ctrl+C again ends them.')
      await gatewayServer.drain()
      await backplane.close()
    }
  }
}

interface GatewayOptions {
  config: LayeredConfig
  options: GatewayCommandOptions
  io: Io
  output: Output
  surface: Surface
  /** A gateway user, with separate connections, logins and activity. */
  user?: string
}

async function openGateway({
  config,
  options,
  io,
  output,
  surface,
  user,
}: GatewayOptions): Promise<UserGateway> {
  const separateUser = user === undefined || user === ownerName ? undefined : user
  const host = makeHost({
    ...hostSettings(config, options, io),
    servers: config.servers,
    models: [...(await modelsFor(undefined, config, io))],
    surface,
    ...storesOf(separateUser, options, io),
  })
  try {
    const opened = host.gateway.open({
      version,
      title: 'Jackfield',
      ...(options.only !== undefined && { only: options.only }),
      onWarning: (message) => output.note(`! ${oneLine(message)}`),
    })
    const started = host.start()
    started.catch(() => {})
    await Promise.race([started, whenStarted(host, io.signal)])
    noteConnections(host, options.only, output)
    return {
      server: opened.server,
      async close() {
        opened.close()
        await host.close()
      },
    }
  } catch (error) {
    await host.close()
    throw error
  }
}

/** Resolves when no server is starting. A server that waits for the user's consent does not delay the others or a client. */
function whenStarted(host: Host, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      const coming = [...host.connections.values()].some(({ state }) => state === 'connecting')
      if (coming && !signal.aborted) return
      stop()
      signal.removeEventListener('abort', check)
      resolve()
    }
    const stop = host.on((event) => {
      if (event.type === 'connection') check()
    })
    signal.addEventListener('abort', check)
    check()
  })
}

function storesOf(user: string | undefined, options: GatewayCommandOptions, io: Io) {
  const store = storeFile(options.store, io)
  if (user === undefined) return { store }
  if (store === ':memory:') return { store }
  const folder = join(dirname(store), 'gateway', user)
  return {
    store: join(folder, 'activity.db'),
    credentials: credentialStore({ ...io, env: { ...io.env, XDG_DATA_HOME: folder } }),
  }
}

function noteConnections(host: Host, only: readonly string[] | undefined, output: Output): void {
  for (const [server, state] of host.connections) {
    if ('fixes' in state)
      noteWithFixes(output, `! ${oneLine(server)} is not available: ${oneLine(state.reason)}`, state.fixes)
  }
  const tools = host.tools().map(({ name }) => name)
  const names = [
    ...tools,
    ...host.prompts().map(({ name }) => name),
    ...host.resources().map(({ server, resource }) => `${server}__${resource.uri}`),
    ...host.templates().map(({ server, template }) => `${server}__${template.uriTemplate}`),
  ]
  const isOffered = (name: string): boolean => only?.some((glob) => matchesGlob(glob, name)) ?? true
  for (const glob of only ?? []) {
    if (names.some((name) => matchesGlob(glob, name))) continue
    const example = tools[0] === undefined ? '' : `, such as ${oneLine(tools[0])}`
    output.note(`! --only ${oneLine(glob)} matches nothing. Names are written server__tool${example}`)
  }
  const all = `${count(tools.length, 'tool')} of ${count(host.connections.size, 'server')}`
  output.note(only === undefined ? `${all}.` : `${tools.filter(isOffered).length} of ${all}.`)
}

function parseAddress(text: string): { host: string; port: number } {
  const parts = /^(?:(\[[0-9a-fA-F:]+\]|[^:]+):)?(\d{1,5})$/.exec(text)
  const port = Number(parts?.[2])
  if (parts === null || port > 65_535) {
    throw usageError(`"${text}" is not an address. Write --http 127.0.0.1:8080; port 0 picks a free port.`)
  }
  return { host: (parts[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

/** The tokens of the users in a file, by name. */
async function readTokens(file: string): Promise<Record<string, string>> {
  const invalidFile = (why: string): Error =>
    usageError(`${file} ${why}. It must be one JSON object: { "ann": "a token of 16 characters or more" }.`)
  let users: unknown
  try {
    users = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw invalidFile(`cannot be read: ${readErrorReason(error)}`)
  }
  if (typeof users !== 'object' || users === null || Array.isArray(users))
    throw invalidFile('is not an object')
  const tokens: Record<string, string> = {}
  for (const [name, token] of Object.entries(users)) {
    if (!userName.test(name)) throw invalidFile(`has the invalid user name "${oneLine(name)}"`)
    if (typeof token !== 'string') throw invalidFile(`has a token of ${name} that is not a string`)
    tokens[name] = token
  }
  if (Object.keys(tokens).length === 0) throw invalidFile('has no users')
  return tokens
}
