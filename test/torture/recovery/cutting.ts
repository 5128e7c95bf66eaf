import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Random } from '../random.ts'

const farthest = 12_000

/** One connection, and how many bytes it lets through each way before it is cut. */
interface Way {
  up: number
  down: number
}

/** A proxy between a client and some nodes that cuts connections while it is enabled. */
export class Cutter {
  url = ''
  /** How many connections it cut. */
  cuts = 0
  readonly #random: Random
  readonly #ports: readonly [number, ...number[]]
  readonly #ways = new Set<Way>()
  readonly #sockets = new Set<Socket>()
  #wild = false

  private constructor(ports: readonly [number, ...number[]], random: Random) {
    this.#ports = ports
    this.#random = random
  }

  /** Every connection goes to one of these ports, found by chance. */
  static async before(ports: readonly [number, ...number[]], random: Random): Promise<Cutter> {
    const cutter = new Cutter(ports, random)
    const server = createServer((client) => cutter.#accept(client))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of cutter.#sockets) socket.destroy()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    cutter.url = `http://127.0.0.1:${port}/mcp`
    return cutter
  }

  /** Cuts connections after some bytes from now on, open ones too. */
  begin(): void {
    this.#wild = true
    for (const way of this.#ways) Object.assign(way, this.#some())
  }

  /** From now on nothing is cut. */
  end(): void {
    this.#wild = false
  }

  #some(): Way {
    const some = (): number => this.#random.between(0, farthest)
    return { up: some(), down: some() }
  }

  #accept(client: Socket): void {
    const upstream = dial(this.#random.pick(this.#ports), '127.0.0.1')
    const way = this.#some()
    this.#ways.add(way)
    const end = (): void => {
      client.destroy()
      upstream.destroy()
      this.#ways.delete(way)
    }
    const pass = (from: Socket, to: Socket, side: 'up' | 'down'): void => {
      this.#sockets.add(from)
      from.on('data', (bytes) => {
        if (!this.#wild) {
          to.write(bytes)
          return
        }
        to.write(bytes.subarray(0, Math.max(0, way[side])))
        way[side] -= bytes.length
        if (way[side] > 0) return
        this.cuts++
        // What was let through still arrives.
        setImmediate(end)
      })
      from.on('error', end)
      from.on('close', () => {
        this.#sockets.delete(from)
        end()
      })
    }
    pass(client, upstream, 'up')
    pass(upstream, client, 'down')
  }
}
