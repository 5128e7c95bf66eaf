import { canonical } from '../../shared/json.ts'
import type { Reconfigured, ServerConfig } from '../../types/index.ts'
import type { ServerConnection } from '../connections/connection.ts'

/** Makes the connections those of `wanted`: what did not change goes on as it is. */
export async function reconfigure(
  wanted: Readonly<Record<string, ServerConfig>>,
  connections: Map<string, ServerConnection>,
  make: (name: string, config: ServerConfig) => ServerConnection,
  gone: (name: string) => void,
): Promise<Reconfigured> {
  const names = Object.keys(wanted)
  const removed = [...connections.keys()].filter((name) => !names.includes(name))
  const added = names.filter((name) => !connections.has(name))
  const changed = names.filter((name) => {
    const now = connections.get(name)?.config
    return now !== undefined && canonical(now) !== canonical(wanted[name])
  })
  const closing = [...removed, ...changed].flatMap((name) => connections.get(name)?.close() ?? [])
  for (const name of removed) {
    connections.delete(name)
    gone(name)
  }
  const begun: ServerConnection[] = []
  for (const name of [...added, ...changed]) {
    const config = wanted[name]
    if (config === undefined) continue
    const connection = make(name, config)
    connections.set(name, connection)
    begun.push(connection)
  }
  await Promise.all(closing)
  await Promise.all(begun.map((connection) => connection.start()))
  return { added, removed, changed }
}
