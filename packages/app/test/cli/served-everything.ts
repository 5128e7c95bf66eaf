import { stdio } from '@jackfield/sdk/client/stdio'
import { proxy } from '@jackfield/sdk/compose'
import { serveHttp } from '@jackfield/sdk/http'
import { everything } from './jackfield.ts'

/**
 * Serves one process of server-everything over HTTP, for commands whose way of connecting is not tested: a process of its
 * own for each costs more than all that the command does. `over` registers what ends it. Returns its URL.
 */
export async function serveEverything(over: (end: () => Promise<void>) => void): Promise<string> {
  const [command = '', ...args] = everything
  const upstream = await proxy(stdio({ command, args }))
  const listener = await serveHttp(upstream).listen()
  over(async () => {
    await listener.close()
    await upstream.close()
  })
  return listener.url
}
