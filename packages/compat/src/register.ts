/**
 * Runs a program of the official SDK on Jackfield without a change: `node --import @jackfield/compat/register server.js`. Imports
 * of the entries that this package covers get this package; all others get the official SDK.
 */
import nodeModule from 'node:module'

// Older versions of Node have no such function, so it is no named import.
const { createRequire, registerHooks } = nodeModule
if (typeof registerHooks !== 'function') {
  throw new Error(
    '@jackfield/compat/register needs Node 22.15 or later. On older versions change the imports.',
  )
}

const manifest: { exports: Record<string, string | { default: string }> } = createRequire(import.meta.url)(
  '../package.json',
)

/** The official packages of version 2 by their entries here. */
const packagesOf2: Readonly<Record<string, string>> = {
  './v2/server': '@modelcontextprotocol/server',
  './v2/server/stdio': '@modelcontextprotocol/server/stdio',
  './v2/client': '@modelcontextprotocol/client',
  './v2/client/stdio': '@modelcontextprotocol/client/stdio',
  './v2/node': '@modelcontextprotocol/node',
}

const redirected = new Map<string, string>()
for (const [entry, target] of Object.entries(manifest.exports)) {
  if (typeof target === 'string' || entry === './register') continue
  const official = packagesOf2[entry] ?? `@modelcontextprotocol/sdk${entry.slice(1)}`
  redirected.set(official, new URL(`../${target.default.slice(2)}`, import.meta.url).href)
}

registerHooks({
  resolve(specifier, context, next) {
    const url = redirected.get(specifier)
    return url === undefined ? next(specifier, context) : next(url, context)
  },
})
