import type { HttpConnection } from './http-connection.ts'
import { initialize, initialized } from './kinds.ts'
import { type Ending, Line } from './line.ts'
import { get, post, sessionHeaders } from './served.ts'

/** A session over HTTP and its connection. */
export interface HttpSession {
  readonly connection: HttpConnection
  readonly headers: string
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
const count = JSON.stringify({
  ...call,
  params: { name: 'count', arguments: {}, _meta: { progressToken: 1 } },
})
const later = JSON.stringify({ ...call, id: 2, params: { name: 'later', arguments: {} } })

/**
 * Begins a session and calls a tool, whose progress is stored for resumption. A session that expired meanwhile, as
 * the machine was busy, is replaced.
 */
export async function openSession(connection: HttpConnection): Promise<HttpSession> {
  for (let again = 0; again < 20; again++) {
    const { session, status } = await connection.exchange(post(initialize, ''))
    if (status !== 200 || session === undefined) throw new Error(`initialize was answered with ${status}`)
    const headers = sessionHeaders(session)
    await connection.exchange(post(initialized, headers))
    const answer = await connection.exchange(post(count, headers))
    if (answer.status === 404) continue
    if (!answer.text.includes('counted')) throw new Error(`Not counted: ${answer.text}`)
    return { connection, headers }
  }
  throw new Error('Every session was idle for too long')
}

/** Opens a stream and starts a call in a session. Returns a function that closes both. */
export async function keepBusy(
  port: number,
  { connection, headers }: HttpSession,
): Promise<(how: Ending) => Promise<void>> {
  const stream = await Line.to({ port })
  stream.write(get(headers))
  const status = await stream.until('HTTP/1.1 ')
  if (!/ (200|404) /.test(status)) throw new Error(`The stream was answered with ${status}`)
  await connection.send(post(later, headers))
  return async (how) => {
    await Promise.all([stream.end(how), connection.close(how)])
  }
}

/** Initializes a session over a line connection, and calls its tool. */
export async function openLineSession(line: Line): Promise<void> {
  line.write(`${initialize}\n${initialized}\n`)
  await line.until('"initialize"')
  line.write(`${count}\n`)
  await line.until('counted')
}

/** Initializes a session over HTTP+SSE, and calls its tool. Returns its stream. */
export async function openSseSession(port: number, connection: HttpConnection): Promise<Line> {
  const stream = await Line.to({ port })
  stream.write(get('', '/sse'))
  const found = await stream.until('sessionId=')
  const path = found.slice(found.indexOf('/sse?'))
  for (const body of [initialize, initialized, count]) {
    const { status } = await connection.exchange(post(body, '', path))
    if (status !== 202) throw new Error(`A message to ${path} was answered with ${status}`)
  }
  await stream.until('counted')
  return stream
}
