import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Tests run side by side, and the system hands a port that was closed to the next who asks for any. What has to stay
// free, or to come back, is taken from below the ports that it hands out.

/** A port on which no process listens. */
export const nowhere = '127.0.0.1:1024'

/** A port that no process uses and no other test gets while a server of this one starts, or is away and comes back. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(11_000, 32_000)
    const probe = createServer().listen(port, '127.0.0.1')
    try {
      await once(probe, 'listening')
    } catch {
      continue
    }
    probe.close()
    await once(probe, 'close')
    return port
  }
  throw new Error(
    'A hundred ports between 11000 and 32000 were tried on 127.0.0.1, and none could be listened on',
  )
}
