import { chmodSync, lstatSync, type Stats, unlinkSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'
import { McpError } from '../jsonrpc/error.ts'

const onWindows = process.platform === 'win32'
const ownerOnly = 0o600
/** Milliseconds to find out whether somebody listens. */
const probeMs = 1000

/**
 * Takes away a socket file nobody listens on any more.
 * @throws McpError CONNECT_FAILED where somebody does, or where something else lies there
 */
export async function clearStale(path: string): Promise<void> {
  if (onWindows) return
  const before = statOf(path)
  if (before === undefined) return
  if (!before.isSocket()) {
    throw refused(path, 'something lies there that is not a socket. Move it away, or choose another path')
  }
  if (await isServed(path)) throw refused(path, 'another server listens there')
  const now = statOf(path)
  if (now !== undefined && now.ino === before.ino && now.ctimeMs === before.ctimeMs) unlinkSync(path)
}

/** Binds a server to a socket file that its owner alone can use, from the first moment on. */
export function bindPrivately(server: Server, path: string): void {
  if (onWindows) {
    server.listen({ path })
    return
  }
  // The file is made within `listen`, so nothing else of this process is made with the same mask.
  const mask = isMainThread ? process.umask(0o777 & ~ownerOnly) : undefined
  try {
    server.listen({ path, exclusive: true })
  } finally {
    if (mask !== undefined) process.umask(mask)
  }
  if (mask === undefined && server.listening) chmodSync(path, ownerOnly)
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw refused(path, error instanceof Error ? error.message : String(error), error)
  }
}

/** Whether anybody may be listening: anything but a refusal could mean so. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path })
    const settle = (served: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(served)
    }
    const timer = setTimeout(() => settle(true), probeMs)
    socket.once('connect', () => settle(true))
    socket.once('error', (error) => settle(!('code' in error && error.code === 'ECONNREFUSED')))
  })
}

function refused(path: string, why: string, cause?: unknown): McpError {
  return new McpError('CONNECT_FAILED', `Cannot listen on ${path}: ${why}`, { cause })
}
