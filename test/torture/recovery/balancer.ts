import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Node } from './nodes.ts'

const sessionHeader = 'mcp-session-id'

/**
 * A balancer before some nodes. Requests of a session go to the node that began it while that runs; what no node has
 * taken yet goes to the next one, and what a node took with it is cut off. Gives the address of the endpoint.
 */
export async function balancer(nodes: readonly Node[]): Promise<string> {
  const homes = new Map<string, Node>()
  let turn = 0
  const choose = (session: unknown): Node | undefined => {
    const home = homes.get(String(session))
    if (home?.port !== undefined) return home
    const up = nodes.filter(({ port }) => port !== undefined)
    return up[turn++ % Math.max(1, up.length)]
  }
  const pass = (from: IncomingMessage, body: Buffer, to: ServerResponse, tries: number): void => {
    const node = choose(from.headers[sessionHeader])
    if (node?.port === undefined || tries === 0) {
      to.writeHead(503).end()
      return
    }
    let taken = false
    const { method, url: path, headers } = from
    const onward = request({ host: '127.0.0.1', port: node.port, method, path, headers, agent: false })
    onward.on('socket', (socket) => {
      socket.once('connect', () => {
        taken = true
      })
    })
    onward.on('response', (answer) => {
      const session = answer.headers[sessionHeader]
      if (typeof session === 'string') homes.set(session, node)
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => to.destroy())
      answer.pipe(to)
    })
    onward.on('error', () => {
      if (taken) to.destroy()
      else pass(from, body, to, tries - 1)
    })
    to.once('close', () => onward.destroy())
    onward.end(body)
  }
  const server = createServer((from, to) => {
    const chunks: Buffer[] = []
    from.on('data', (chunk) => chunks.push(chunk))
    from.on('end', () => pass(from, Buffer.concat(chunks), to, nodes.length))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/mcp`
}
