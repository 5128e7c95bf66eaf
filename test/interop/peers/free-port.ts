import { createServer } from 'node:net'

/** A port nobody listens on, for servers that do not tell which one they were given. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port)
        else reject(new Error('No port was given'))
      })
    })
  })
}
