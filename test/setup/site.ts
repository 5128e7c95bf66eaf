import { createServer } from 'node:http'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'

/** A site for URLs of elicitations. */
export interface Site {
  port: number
  url: string
  /** The number of connections to it. */
  visits(): number
  /** Makes one connection, which shows that they are counted. */
  touch(): Promise<void>
}

/** Opens a site that counts every connection to it, for one test. */
export async function site(): Promise<Site> {
  let visits = 0
  const server = createServer((_request, response) => response.end('hello'))
  server.on('connection', () => {
    visits++
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    url: `http://127.0.0.1:${port}/sign-in?state=1#top`,
    visits: () => visits,
    touch: () => new Promise<void>((resolve) => connect(port, '127.0.0.1', resolve).unref()),
  }
}
