export type { Lookup } from './access/directory.ts'
export { type Confirm, defaultLimits, type FilesystemLimits, type FilesystemOptions } from './options.ts'
export { createFilesystemServer } from './server.ts'
