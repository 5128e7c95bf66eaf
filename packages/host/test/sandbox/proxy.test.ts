import { createServer, type Server as HttpServer, request } from 'node:http'
import { createServer as createTcpServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readHosts } from '../../src/sandbox/hosts.ts'
import { startProxy } from '../../src/sandbox/proxy.ts'

async function listening(server: Server | HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** What a program in a sandbox is given that asks for a place by way of the proxy. */
async function asked(port: number): Promise<{ status: number | undefined; text: string }> {
  const way = await startProxy(readHosts([`127.0.0.1:${port}`]), () => {})
  onTestFinished(() => way.close())
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath: join(way.folder, way.socket), path: `http://127.0.0.1:${port}/x` })
    asking.once('error', reject)
    asking.once('response', async (given) => {
      let text = ''
      for await (const chunk of given) text += String(chunk)
      resolve({ status: given.statusCode, text })
    })
    asking.end()
  })
}

describe('the way out of a sandbox', () => {
  it('passes on what a listed host answers', async () => {
    const port = await listening(createServer((given, answer) => answer.end(`${given.url} is here`)))
    expect(await asked(port)).toEqual({ status: 200, text: '/x is here' })
  })

  it.each([
    ['HTTP/1.1 001 X\r\ncontent-length: 0\r\n\r\n', 'it answers with 1, which is no status'],
    ['HTTP/1.1 099 X\r\n\r\n', 'it answers with 99, which is no status'],
    ['HTTP/1.1 101 X\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n', 'in another protocol than HTTP'],
    ['HTTP/1.1 200 OK\r\na b: c\r\n\r\n', 'Parse Error'],
    ['', 'socket hang up'],
  ])('stays open whatever a listed host answers: %j', async (bytes, why) => {
    const port = await listening(
      createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end(bytes))
      }),
    )
    expect(await asked(port)).toEqual({ status: 502, text: expect.stringContaining(why) })
  })
})
