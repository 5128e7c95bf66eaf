/**
 * Runs a program of the official SDK on Jackfield without a change: `node --import @jackfield/compat/register server.js`. Imports
 * of the entries that this package covers get this package; all others get the official SDK. Before Node 22.15 only `import`
 * is redirected, not `require()`.
 */
import nodeModule from 'node:module'
import { redirects, resolve } from './redirect.ts'

// Older versions of Node have no such function, so it is no named import.
if (typeof nodeModule.registerHooks === 'function') nodeModule.registerHooks({ resolve })
else nodeModule.register('./redirect.js', import.meta.url)

/** The imports that are redirected. */
export const redirected: readonly string[] = [...redirects.keys()]
