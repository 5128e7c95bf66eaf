export type { Limits } from './config.ts'
export { createDatabaseServer, type DatabaseServer, type DatabaseServerOptions } from './server.ts'
