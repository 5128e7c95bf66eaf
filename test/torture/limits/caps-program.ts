import { McpError } from '@jackfield/sdk'
import { connect, http } from '@jackfield/sdk/client'
import { clientCredentials } from '@jackfield/sdk/client/auth'
import { pinnedFetch } from '@jackfield/sdk/client/auth/node'
import { input, report, watchBytes } from './meter.ts'

const limitBytes = 4 * 1024 * 1024

function authFor(kind: string, base: string) {
  if (!kind.startsWith('login')) return {}
  const network = kind.endsWith('pinned') ? { network: { fetch: pinnedFetch } } : {}
  return {
    auth: clientCredentials({ client: { issuer: base, clientId: 'c', clientSecret: 's' }, ...network }),
  }
}

/** Waits until the server sees that its answer is no longer taken, while the client is still there. */
async function closed(kind: string): Promise<void> {
  for (let asked = 0; asked < 200; asked++) {
    const open: unknown = await (await fetch(`${base}/open`)).json()
    if (Array.isArray(open) && !open.includes(kind)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${kind}: the connection was not closed`)
}

/** Calls a tool of a server whose response exceeds the limit. */
async function call(kind: string, code: string): Promise<void> {
  const client = await connect(http(`${base}/${kind}`, authFor(kind, base)))
  const outcome = await client.call('x').catch((error: unknown) => error)
  await closed(kind)
  await client.close()
  if (!(outcome instanceof McpError) || outcome.code !== code) {
    throw new Error(`${kind}: expected ${code}`, { cause: outcome })
  }
}

const given = input((all) => all)
const base = String(given['base'])
const codes = Object.entries(given['codes'] ?? {})
// What is done the first time only, such as compiling, is no part of the growth.
await call('nothing', 'HTTP')
globalThis.gc?.()
const before = process.memoryUsage().rss
const stop = watchBytes()
for (const [kind, code] of codes) await call(kind, String(code))
report({ grown: (stop() - before) / limitBytes })
