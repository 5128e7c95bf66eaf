import { getEventListeners } from 'node:events'
import { McpError, RpcError } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { messageBytes, type Request, requestOf } from './kinds.ts'
import { planIn, soak } from './soak.ts'
import { wares } from './wares.ts'

// Clients of both eras that send each kind of request to a server in the same process, over memory or over HTTP. All
// calls share one signal that is never aborted, as those of an application do that stops them when it ends.

const plan = planIn(process.argv[2])
const { server, began, stopped } = wares()
const handler = serveHttp(server, {
  keys: ['k'.repeat(32)],
  limits: { messageBytes, storedEvents: 50 },
  onWarning: (text) => process.stderr.write(`${text}\n`),
})
const target = plan.way === 'http' ? (await handler.listen()).url : server
const whole = new AbortController()
const clients = {
  modern: await connect(target, { revisions: ['2026-07-28'] }),
  session: await connect(target, { revisions: ['2025-11-25'] }),
}

async function runRequest(n: number): Promise<void> {
  const era = Math.floor(n / 20) % 2 === 0 ? 'modern' : 'session'
  const request = requestOf(n, era)
  const client: Client = clients[era]
  if (request.twist === 'cancelled') await giveBack(n, client, request)
  else await requestWhole(client, request)
  if (n % 500 === 0) server.changes.publish({ type: 'tools' })
}

async function requestWhole(client: Client, { method, params, answer, twist }: Request): Promise<void> {
  const { _meta, ...rest } = params
  let progress = 0
  const answered = await client
    .request(method, rest, { signal: whole.signal, onProgress: () => progress++, onLog: () => {} })
    .then(
      (result) => ({ result }),
      (error: unknown) => {
        if (error instanceof RpcError || (twist === 'oversized' && error instanceof McpError))
          return { error: error.code }
        throw error
      },
    )
  const text = JSON.stringify(answered)
  // Within memory there are no bytes to count.
  const holds = twist === 'oversized' && plan.way !== 'http' ? '"isError":true' : answer
  if (!text.includes(holds)) throw new Error(`${text.slice(0, 500)} where ${holds} was expected`)
  if (answer === 'counted' && progress !== 3) throw new Error(`Progress arrived ${progress} times`)
}

async function giveBack(n: number, client: Client, { method, params }: Request): Promise<void> {
  const { _meta, ...rest } = params
  const own = new AbortController()
  const signal = AbortSignal.any([own.signal, whole.signal])
  const called = client.request(method, rest, { signal }).then(
    () => 'answered',
    () => 'cancelled',
  )
  await began(n)
  own.abort(new Error('No longer wanted'))
  const how = await called
  if (how !== 'cancelled') throw new Error(`A call that was taken back was ${how}`)
  await stopped(n)
}

await soak(
  { runRequest, concurrency: 8, listeners: () => getEventListeners(whole.signal, 'abort').length },
  plan,
)
