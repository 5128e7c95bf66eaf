/** Which imports of the official SDK this package takes over, and the resolve hook that does so. */
import { readFileSync } from 'node:fs'
import type { ResolveFnOutput, ResolveHookContext } from 'node:module'

/** The official packages of version 2 by their entries here. */
const packagesOf2: Readonly<Record<string, string>> = {
  './v2/server': '@modelcontextprotocol/server',
  './v2/server/stdio': '@modelcontextprotocol/server/stdio',
  './v2/client': '@modelcontextprotocol/client',
  './v2/client/stdio': '@modelcontextprotocol/client/stdio',
  './v2/node': '@modelcontextprotocol/node',
}

const manifest: { exports: Record<string, string | { default: string }> } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)

/** The URL of the module here for each official import that is covered. */
export const redirects: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === 'string' || entry === './register') return []
    const official = packagesOf2[entry] ?? `@modelcontextprotocol/sdk${entry.slice(1)}`
    return [[official, new URL(`../${target.default.slice(2)}`, import.meta.url).href]]
  }),
)

/** Resolves an official import to this package, and leaves all others to the next hook. */
export function resolve<R extends ResolveFnOutput | Promise<ResolveFnOutput>>(
  specifier: string,
  context: ResolveHookContext,
  next: (specifier: string, context?: Partial<ResolveHookContext>) => R,
): R | ResolveFnOutput {
  const url = redirects.get(specifier)
  // The next hook would take a URL for a path where a CommonJS module requires it.
  return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
}
