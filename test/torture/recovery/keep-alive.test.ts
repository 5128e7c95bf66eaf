import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { defineServer, McpError, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const callers = 8

/** A server behind one that ends each connection as soon as it has answered on it, or a moment later. */
async function hasty(random: Random): Promise<{ url: string; runs: Map<number, number> }> {
  const runs = new Map<number, number>()
  const server = defineServer({
    name: 'hasty',
    version: '1',
    tools: {
      pay: tool({
        input: z.object({ order: z.number() }),
        run: ({ order }) => {
          runs.set(order, (runs.get(order) ?? 0) + 1)
          return 'paid'
        },
      }),
    },
  })
  const handler = serveHttp(server, { onWarning: () => {} })
  const end = (socket: Socket): void => {
    if (random.fraction() < 0.5) socket.end()
    else socket.destroySoon()
  }
  const listener = createServer((request, response) => {
    const { socket } = request
    response.once('finish', () => {
      const late = random.between(0, 3)
      if (late === 0) setImmediate(end, socket)
      else setTimeout(end, late, socket)
    })
    handler.node(request, response)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    listener.closeAllConnections()
    listener.close()
    await handler.close()
  })
  const { port } = listener.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp`, runs }
}

campaign(
  {
    id: 'keep-alive',
    chapter: 'Sessions and streams',
    claim: 'A server that closes the connection after each response fails no read, and runs no call twice',
    trial: 'request on a connection that is about to end',
    trials: { test: 160, change: 640, long: 100_000 },
  },
  async ({ trials, seed, measured }) => {
    let unknown = 0
    let order = 0
    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      const { url, runs } = await hasty(new Random(seed))
      const client = await connect(url, { revisions: [revision] })
      const paid: number[] = []
      const pay = async (): Promise<void> => {
        const mine = ++order
        try {
          await client.call('pay', { order: mine })
          paid.push(mine)
        } catch (error) {
          if (!(error instanceof McpError) || error.code !== 'OUTCOME_UNKNOWN') throw error
          unknown++
        }
      }
      const caller = async (): Promise<void> => {
        for (let left = trials / 2 / callers / 2; left > 0; left--) {
          expect(await client.tools({ cache: 'bypass' })).toHaveLength(1)
          await pay()
        }
      }
      await Promise.all(Array.from({ length: callers }, caller))
      expect(Math.max(...runs.values()), `no order is paid twice on ${revision}`).toBe(1)
      expect(
        paid.filter((one) => runs.get(one) !== 1),
        `what was answered was paid on ${revision}`,
      ).toEqual([])
      await client.close()
    }
    measured('calls whose outcome was reported as unknown', unknown, '')
  },
)
