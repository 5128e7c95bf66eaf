import { fileURLToPath } from 'node:url'
import { createHost, type Host, type Surface } from '@jackfield/host'

/**
 * Starts a host with the notes server of this project.
 * @param surface asks the user for approvals and input; without one, calls that need them are denied
 */
export async function startHost(surface?: Surface): Promise<Host> {
  const host = createHost({
    servers: {
      notes: {
        command: process.execPath,
        args: [fileURLToPath(new URL('server-main.ts', import.meta.url))],
      },
    },
    // Any other call needs approval. Deny rules take precedence over ask rules, and ask rules over allow rules.
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
