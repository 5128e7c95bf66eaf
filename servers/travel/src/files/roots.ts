import { fileURLToPath } from 'node:url'
import { type Context, type Root, RpcError, ToolError } from '@jackfield/sdk'

/** A folder the client opened to this server. */
export interface OpenRoot {
  uri: string
  name: string
  path: string
}

/**
 * The folders that the client opened.
 * @param outcome what did not happen, as the start of a sentence
 * @throws ToolError if the client has no roots, does not return them, or opened none
 */
export async function openRoots(ctx: Context, outcome: string): Promise<[OpenRoot, ...OpenRoot[]]> {
  if (!ctx.can('roots')) {
    throw new ToolError(
      `${outcome}: only folders that the client opened to this server (roots) are used, and this client has no roots. Use a client with roots.`,
    )
  }
  const roots = await ctx.roots().catch((error: unknown) => {
    if (!(error instanceof RpcError || error instanceof ToolError)) throw error
    throw new ToolError(
      `${outcome}: the client did not say which folders (roots) are open. ${error.message}`,
      {
        cause: error,
      },
    )
  })
  const [first, ...others] = usableRoots(roots)
  if (first === undefined) {
    throw new ToolError(
      `${outcome}: the client opened no folder (root) to this server. Open one in the client, then try again.`,
    )
  }
  return [first, ...others]
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
