import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HostService } from '@jackfield/host/service'
import { openBrowser } from '@jackfield/sdk/client/auth/node'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { openHost } from '../cli/host.ts'
import type { Io, Output } from '../cli/io.ts'
import { daemonAddress, type HostChoice, sessionsFile } from '../daemon/address.ts'
import { openChannel } from '../daemon/attach.ts'
import type { WebReply, WebRequest } from '../daemon/web-server.ts'
import { oneLine } from '../output/sanitize.ts'

export interface WebOptions extends HostChoice {
  json?: boolean
  /** False: only prints the link. */
  open?: boolean
  port?: number
  /** The origin that browsers see, for several people behind a proxy; with `oidc`. */
  public?: string
  /** The OpenID issuer where they sign in. */
  oidc?: string
  clientId?: string
  clientSecretFile?: string
  allow?: string[]
  /** A Unix socket, or a port of 127.0.0.1. */
  listen?: string | number
  appsDomain?: string
  /** Hours of a session. */
  session?: number
  maxUsers?: number
}

/** Options that only make sense for several people. */
const multiUserOptions = [
  'clientId',
  'clientSecretFile',
  'allow',
  'listen',
  'appsDomain',
  'session',
  'maxUsers',
] as const

/**
 * `jackfield web`: serves the web app of this folder until a signal. The web server runs in the host process, so that the page
 * shows the same state as every terminal; several commands share it.
 */
export async function web(options: WebOptions, io: Io, output: Output): Promise<ExitCode> {
  const { public: origin, oidc } = options
  if (origin !== undefined && oidc !== undefined) {
    if (options.port !== undefined)
      throw usageError('--port cannot be used with --public: --listen sets the address for the proxy.')
    const { webForUsers } = await import('./web-users.ts')
    await webForUsers({ ...options, public: origin, oidc }, io, output)
    return ExitCode.done
  }
  if (origin !== undefined || oidc !== undefined)
    throw usageError(
      'Without a login at an issuer, only 127.0.0.1 is served. For several people behind a proxy, give both --public and --oidc.',
    )
  const misplaced = multiUserOptions.find((name) => options[name] !== undefined)
  if (misplaced !== undefined)
    throw usageError(
      `--${misplaced.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} needs --public and --oidc.`,
    )
  await using host = await openHost(options, 'jackfield web', io)
  if (host.service === undefined) await useSharedServer(options, io, output)
  else await serveLocalHost(host.service, options, io, output)
  return ExitCode.done
}

/** Uses the web server of the host process until a signal. A replacement host process takes over if this one is lost. */
async function useSharedServer(options: WebOptions, io: Io, output: Output): Promise<void> {
  let isFirst = true
  while (!io.signal.aborted) {
    const channel = await openChannel(options, io)
    const ended = Promise.withResolvers<void>()
    const end = (): void => channel.close()
    io.signal.addEventListener('abort', end, { once: true })
    channel.listen(
      (frame) => {
        const reply: WebReply = JSON.parse(frame)
        if ('warning' in reply) output.note(`! ${oneLine(reply.warning)}`)
        else if ('fault' in reply) ended.reject(usageError(reply.fault))
        else if (isFirst) {
          isFirst = false
          showLink(reply, options, output).catch(ended.reject)
        } else
          output.note(
            `The host process was lost. A new one serves the page; logged-in browsers stay logged in. New login link: ${reply.link}`,
          )
      },
      () => ended.resolve(),
    )
    const { port } = options
    channel.send(JSON.stringify({ web: port === undefined ? {} : { port } } satisfies WebRequest))
    if (io.signal.aborted) end()
    await ended.promise
    io.signal.removeEventListener('abort', end)
  }
}

async function serveLocalHost(
  service: HostService,
  options: WebOptions,
  io: Io,
  output: Output,
): Promise<void> {
  using sessions = openSessionFile(options, io)
  await serveHere(service, { ...options, file: sessions.file }, io, output)
}

/** How a host in this process is served. */
export interface ServeHereOptions extends Pick<WebOptions, 'open' | 'port'> {
  /** Path of the session file. */
  file: string
  /** The first path of the page, such as `/chat/<id>`. Default `/`. */
  path?: string
}

/** Serves the web app of a host in this process until a signal. */
export async function serveHere(
  service: HostService,
  options: ServeHereOptions,
  io: Io,
  output: Output,
): Promise<void> {
  const { createPeerServer } = await import('@jackfield/host/service')
  const { linkToRunning, serveWeb, WebServerRunningError } = await import('@jackfield/web')
  const { file, port, path = '/' } = options
  const peers = await createPeerServer(service)
  const started = serveWeb({
    peers,
    apps: service.host.apps,
    file,
    ...(port !== undefined && { port }),
    onWarning: (message) => output.note(`! ${oneLine(message)}`),
  })
  await using server = await started.catch((error: unknown) => {
    const link = error instanceof WebServerRunningError ? linkToRunning(file) : undefined
    if (link === undefined) throw usageError(error instanceof Error ? error.message : String(error))
    throw new CliError(
      ExitCode.usage,
      `The web app of this folder is served by another process: ${link}\nEnd that one first, to serve it from this one: jackfield daemon stop, or Ctrl+C where jackfield web --no-daemon runs.`,
    )
  })
  // Start failures of servers are shown on the page.
  service.start().catch(() => {})
  const link = new URL(server.link())
  link.pathname = path
  await showLink({ link: link.href, isStarted: true }, options, output)
  await new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve()
    io.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  peers.close('the host ends')
}

/** The session file; with a read-only home, a temporary one. */
function openSessionFile(options: WebOptions, io: Io): Disposable & { readonly file: string } {
  try {
    return { file: sessionsFile(daemonAddress(options, io)), [Symbol.dispose]() {} }
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-web-'))
    return {
      file: join(folder, 'web.db'),
      [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
    }
  }
}

async function showLink(
  { link, isStarted }: { readonly link: string; readonly isStarted: boolean },
  { open, port }: Pick<WebOptions, 'open' | 'port'>,
  output: Output,
): Promise<void> {
  output.row({ url: link }, link)
  output.note(
    'The link logs one browser in. It is valid once, for 60 s; run jackfield web again for another one.',
  )
  if (!isStarted && port !== undefined && new URL(link).port !== String(port))
    output.note(
      `! The web app of this folder runs already; --port ${port} was not used. To use it, first: jackfield daemon stop`,
    )
  output.note(
    isStarted
      ? 'Ctrl+C ends it.'
      : 'Ctrl+C ends this command. The page is served until every jackfield web has ended.',
  )
  if (open === false) return
  await openBrowser(new URL(link)).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    output.note(`! ${oneLine(reason)}. Open the link yourself.`)
  })
}
