import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net from 'node:net'
import tls from 'node:tls'
import { onTestFinished } from 'vitest'

/** An address on the Internet; what is there is answered by a server of this process. */
export const somewhere = '93.184.215.14'

/** A web of host names that exists only here: every lookup and every connection of this process passes it. */
export interface Web {
  /** The resolver's answers for a name, in order; the last one repeats. Other names resolve to `somewhere`. */
  readonly names: Map<string, string[][]>
  /** Addresses that connections were begun to. */
  readonly reached: string[]
  /** Answers requests to `somewhere`. */
  answer: (request: IncomingMessage, response: ServerResponse, url: URL) => void
}

/** Takes the resolver and the sockets of this process over, to the end of the test. TLS is left out. */
export async function onlyThisWeb(): Promise<Web> {
  const web: Web = { names: new Map(), reached: [], answer: (_, response) => response.writeHead(404).end() }
  const server = createServer((request, response) => {
    web.answer(request, response, new URL(request.url ?? '/', `https://${request.headers.host}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0

  const resolved = (name: string): { address: string; family: number }[] => {
    const list = web.names.get(name) ?? [[somewhere]]
    const now = list.length > 1 ? list.shift() : list[0]
    return (now ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  const before = { lookup: dns.lookup, promised: dnsPromises.lookup, secure: tls.connect }
  const begin = net.Socket.prototype.connect
  const to = (socket: net.Socket, address: string, done: unknown): void => {
    web.reached.push(address)
    if (address === somewhere) Reflect.apply(begin, socket, [port, '127.0.0.1', done])
    else socket.destroy(new Error(`Nothing is at ${address}`))
  }
  Object.assign(dnsPromises, { lookup: async (name: string) => resolved(name) })
  Object.assign(dns, {
    lookup: (name: string, _: unknown, done: (error: null, all: object[]) => void) =>
      done(null, resolved(name)),
  })
  Object.assign(tls, {
    connect: (options: net.NetConnectOpts) => {
      const socket = net.connect(options)
      return socket.once('connect', () => socket.emit('secureConnect'))
    },
  })
  Object.assign(net.Socket.prototype, {
    connect(this: net.Socket, ...given: unknown[]) {
      const [options, done] = Array.isArray(given[0]) ? given[0] : given
      const { host, lookup = dns.lookup } = Object(options)
      if (net.isIP(host) > 0) to(this, host, done)
      else {
        lookup(host, { all: true }, (_: unknown, all: { address: string }[]) => {
          to(this, all[0]?.address ?? 'nowhere', done)
        })
      }
      return this
    },
  })
  onTestFinished(() => {
    Object.assign(net.Socket.prototype, { connect: begin })
    Object.assign(tls, { connect: before.secure })
    Object.assign(dns, { lookup: before.lookup })
    Object.assign(dnsPromises, { lookup: before.promised })
    server.close()
    server.closeAllConnections()
  })
  return web
}
