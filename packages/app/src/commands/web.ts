import { createPeerServer } from '@jackfield/host/service'
import { openBrowser } from '@jackfield/sdk/client/auth/node'
import { linkToRunning, serveWeb, type WebServer } from '@jackfield/web'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { daemonAddress, type HostChoice } from '../daemon/address.ts'
import { buildId } from '../daemon/build-id.ts'
import { createService } from '../daemon/service.ts'
import { oneLine } from '../output/sanitize.ts'

/** Milliseconds between two looks whether the work of a host that is to end is over. */
const stopLookMs = 50

export interface WebOptions extends HostChoice {
  json?: boolean
  /** False: the link is printed only. */
  open?: boolean
  port?: number
}

/** `jackfield web`: serves the web app of this folder until a signal; opens a tab on the one that runs already. */
export async function web(options: WebOptions, io: Io, output: Output): Promise<ExitCode> {
  const file = daemonAddress(options, io).file.replace(/\.json$/, '.web.db')
  const running = linkToRunning(file)
  if (running !== undefined) {
    await show(running, options, output)
    if (options.port !== undefined)
      output.note(`! The web app of this folder runs already; --port ${options.port} was not used.`)
    return ExitCode.done
  }
  await using served = await serveHost(file, options, io, output)
  await show(served.server.link(), options, output)
  output.note('Ctrl+C ends it.')
  const end = new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve()
    io.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await Promise.race([end, served.stopped])
  return ExitCode.done
}

/** A running host with its web server. */
interface ServedHost extends AsyncDisposable {
  readonly server: WebServer
  /** Resolves when a client ended the host. */
  readonly stopped: Promise<void>
}

/** Makes a host of the configuration and the web server of it. All servers start in the background. */
async function serveHost(file: string, options: WebOptions, io: Io, output: Output): Promise<ServedHost> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  const made = await createService(options, io, {
    build: buildId(),
    onStop(now) {
      // The answer to the client that asked goes out first.
      const timer = setInterval(() => {
        if (!now && made.service.busy) return
        clearInterval(timer)
        stop()
      }, stopLookMs)
    },
  })
  const { service } = made
  try {
    const peers = await createPeerServer(service)
    const server = await serveWeb({
      service,
      peers,
      file,
      ...(options.port !== undefined && { port: options.port }),
      onWarning: (message) => output.note(`! ${oneLine(message)}`),
    })
    // The page shows which server could not be started, and why.
    service.start().catch(() => {})
    return {
      server,
      stopped,
      async [Symbol.asyncDispose]() {
        await server.close()
        peers.close('the host ends')
        await made[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await made[Symbol.asyncDispose]()
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

async function show(link: string, { open }: WebOptions, output: Output): Promise<void> {
  output.row({ url: link }, link)
  output.note(
    'The link logs one browser in. It is valid once, for 60 s; run jackfield web again for another one.',
  )
  if (open === false) return
  await openBrowser(new URL(link)).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    output.note(`! ${oneLine(reason)}. Open the link yourself.`)
  })
}
