import { connect } from 'node:net'
import { type Answer, HttpConnection } from './http-connection.ts'
import { cancelledOf, initialize, initialized, messageBytes, messageOf, requestOf } from './kinds.ts'
import { get, modernHeaders, post, served, sessionHeaders } from './served.ts'
import { planIn, soak } from './soak.ts'
import { wares } from './wares.ts'

// A server over HTTP, and clients that send each kind of request to it, in sessions or without.

const plan = planIn(process.argv[2])
const era = plan.way === 'session' ? 'session' : 'modern'
const concurrency = 8
const { server, began, stopped } = wares()
// Few events are stored, so that as many as may be are soon there.
const { port, listeners, connections } = await served(server, { limits: { messageBytes, storedEvents: 50 } })

interface Caller {
  readonly connection: HttpConnection
  /** Takes requests of the lane back. */
  readonly aside: HttpConnection
  readonly session: string | undefined
}

async function enter(): Promise<Caller> {
  const connection = new HttpConnection(port)
  const aside = new HttpConnection(port)
  if (era === 'modern') return { connection, aside, session: undefined }
  const { session } = await connection.exchange(post(initialize, ''))
  await connection.exchange(post(initialized, sessionHeaders(session)))
  const stream = connect(port, '127.0.0.1')
  stream.write(get(sessionHeaders(session)))
  stream.resume()
  return { connection, aside, session }
}

const callers = await Promise.all(Array.from({ length: concurrency }, enter))
const free = [...callers]

async function runRequest(n: number): Promise<void> {
  const caller = free.pop()
  if (caller === undefined) throw new Error('More is put at once than there are lanes')
  const { connection, aside, session } = caller
  const request = requestOf(n, era)
  const { method, params, twist } = request
  const headers =
    era === 'session' ? sessionHeaders(session) : modernHeaders(method, params['name'] ?? params['uri'])
  const bytes = post(messageOf(n, request), headers)
  if (twist !== 'cancelled') {
    check(await connection.exchange(bytes), request.answer, twist === 'oversized' ? 413 : undefined)
  } else if (era === 'modern') {
    await connection.send(bytes)
    await began(n)
    await connection.close(n % 40 < 20 ? 'FIN' : 'RST')
    await stopped(n)
  } else {
    const answered = connection.exchange(bytes)
    await began(n)
    check(await aside.exchange(post(cancelledOf(n), sessionHeaders(session))), '', 202)
    await stopped(n)
    check(await answered, '')
  }
  if (n % 500 === 0) server.changes.publish({ type: 'tools' })
  free.push(caller)
}

function check({ status, text }: Answer, holds: string, wanted?: number): void {
  const right =
    wanted === undefined ? status === 200 || (status >= 400 && holds === '"error"') : status === wanted
  if (!right || !text.includes(holds)) {
    throw new Error(`Status ${status} and ${text.slice(0, 500)} where ${holds} was expected`)
  }
}

/** Closes all connections but the streams of sessions, so that as many are open whenever they are counted. */
async function settled(): Promise<void> {
  await Promise.all(callers.flatMap(({ connection, aside }) => [connection.close(), aside.close()]))
  while (connections() > (era === 'session' ? concurrency : 0))
    await new Promise((resolve) => setTimeout(resolve, 5))
}

await soak({ runRequest, concurrency, listeners, settled }, plan)
