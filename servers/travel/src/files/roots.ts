import { fileURLToPath } from 'node:url'
import type { Root } from '@jackfield/sdk'

/** A folder the client opened to this server. */
export interface OpenRoot {
  uri: string
  name: string
  path: string
}

/** The roots that name a folder of this machine; the others are left out. */
export function usableRoots(roots: readonly Root[]): OpenRoot[] {
  return roots.flatMap(({ uri, name }) => {
    const path = pathOf(uri)
    return path === undefined ? [] : [{ uri, name: name ?? path, path }]
  })
}

function pathOf(uri: string): string | undefined {
  if (!uri.startsWith('file:')) return undefined
  try {
    const path = fileURLToPath(uri)
    return path.includes('\0') ? undefined : path
  } catch {
    return undefined
  }
}
