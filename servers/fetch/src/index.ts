export { createFetchServer, type FetchServer, untrustedMetaKey } from './server.ts'
export type { FetchOptions, Lookup } from './types.ts'
