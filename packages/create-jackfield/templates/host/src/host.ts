import { fileURLToPath } from 'node:url'
import { createHost, type Host, type Surface } from '@jackfield/host'

/**
 * Starts a host with the notes server of this project.
 * @param surface shows questions to the person; without one, calls that need an answer are refused
 */
export async function startHost(surface?: Surface): Promise<Host> {
  const host = createHost({
    servers: {
      notes: {
        command: process.execPath,
        args: [fileURLToPath(new URL('server-main.ts', import.meta.url))],
      },
    },
    // Every other call is asked about. Deny comes before ask, ask before allow.
    rules: [
      { id: 'list', verdict: 'allow', server: 'notes', tool: 'list' },
      { id: 'add', verdict: 'allow', server: 'notes', tool: 'add' },
    ],
    models: [],
    ...(surface === undefined ? {} : { surface }),
  })
  await host.start()
  return host
}
