import { createServer, type Server as HttpServer, request } from 'node:http'
import { connect, createServer as createTcpServer, type Server } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readHosts } from '../../src/servers/sandbox/hosts.ts'
import { startProxy } from '../../src/servers/sandbox/proxy.ts'

async function listening(server: Server | HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** What a program in a sandbox is given that asks for a place by way of the proxy. */
async function asked(
  place: number | string,
  env: Record<string, string> = {},
): Promise<{ status: number | undefined; text: string }> {
  const host = typeof place === 'number' ? `127.0.0.1:${place}` : place
  const way = await startProxy(readHosts([host]), () => {}, env)
  onTestFinished(() => way.close())
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath: join(way.folder, way.socket), path: `http://${host}/x` })
    asking.once('error', reject)
    asking.once('response', async (given) => {
      let text = ''
      for await (const chunk of given) text += String(chunk)
      resolve({ status: given.statusCode, text })
    })
    asking.end()
  })
}

describe('the sandbox proxy', () => {
  it('forwards responses of a listed host', async () => {
    const port = await listening(createServer((given, answer) => answer.end(`${given.url} is here`)))
    expect(await asked(port)).toEqual({ status: 200, text: '/x is here' })
  })

  it("continues through the machine's proxy, for http and for CONNECT", async () => {
    const seen: string[] = []
    const machine = createServer((given, answer) => {
      seen.push(`${given.method} ${given.url}`)
      answer.end('through both')
    })
    machine.on('connect', (given, socket) => {
      seen.push(`CONNECT ${given.url}`)
      const refused = given.url === 'other.example:443'
      socket.end(`HTTP/1.1 ${refused ? '403 No' : '200 OK'}\r\n\r\n${refused ? '' : 'from afar'}`)
    })
    const url = `http://127.0.0.1:${await listening(machine)}`
    const env = { HTTP_PROXY: url, https_proxy: url }
    expect(await asked('shop.example', env)).toEqual({ status: 200, text: 'through both' })
    const connected = async (place: string): Promise<string> => {
      const way = await startProxy(readHosts(['shop.example', 'other.example']), () => {}, env)
      onTestFinished(() => way.close())
      const socket = connect(join(way.folder, way.socket))
      socket.write(`CONNECT ${place} HTTP/1.1\r\nhost: ${place}\r\n\r\n`)
      return text(socket)
    }
    expect(await connected('shop.example:443')).toMatch(/^HTTP\/1\.1 200 [\s\S]*from afar$/)
    expect(await connected('other.example:443')).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*refused to connect to other\.example:443 \(403\)/,
    )
    expect(await connected('third.example:443')).toMatch(/^HTTP\/1\.1 403 [\s\S]*not listed/)
    expect(seen).toEqual([
      'GET http://shop.example/x',
      'CONNECT shop.example:443',
      'CONNECT other.example:443',
    ])
  })

  it.each([
    ['HTTP/1.1 001 X\r\ncontent-length: 0\r\n\r\n', 'it answers with 1, which is not a status'],
    ['HTTP/1.1 099 X\r\n\r\n', 'it answers with 99, which is not a status'],
    ['HTTP/1.1 101 X\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n', 'in another protocol than HTTP'],
    ['HTTP/1.1 200 OK\r\na b: c\r\n\r\n', 'Parse Error'],
    ['', 'socket hang up'],
  ])('stays open for any response of a listed host: %j', async (bytes, why) => {
    const port = await listening(
      createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end(bytes))
      }),
    )
    expect(await asked(port)).toEqual({ status: 502, text: expect.stringContaining(why) })
  })
})
