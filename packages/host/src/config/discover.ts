import { readFile } from 'node:fs/promises'
import type { ServerConfig } from '../types/index.ts'
import { loadConfig } from './config.ts'
import { appFiles } from './layers.ts'
import type { ConfigEnvironment } from './variables.ts'

/** A server in a file of another application. */
export interface DiscoveredServer {
  app: string
  file: string
  name: string
  server: ServerConfig
}

/** The servers of other applications, whose files are only read. `onProblem` is called for a file that cannot be used. */
export async function discoverServers(
  { env, home }: { env: ConfigEnvironment; home: string },
  onProblem: (message: string) => void = () => {},
): Promise<DiscoveredServer[]> {
  const lists = await Promise.all(
    appFiles(env, home).map(async ({ app, file }) => {
      try {
        await readFile(file)
      } catch {
        return []
      }
      try {
        const { servers } = await loadConfig(file, { env, home, layer: 'discovered' })
        return Object.entries(servers).map(([name, server]) => ({ app, file, name, server }))
      } catch (error) {
        onProblem(error instanceof Error ? error.message : String(error))
        return []
      }
    }),
  )
  return lists.flat()
}
