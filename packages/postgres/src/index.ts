export { migratePostgres, type PostgresBackplane, postgresBackplane } from './backplane.ts'
export type { PostgresOptions, PostgresPool, PostgresSettings } from './options.ts'
export { type PostgresTaskStore, postgresTaskStore } from './task-store.ts'
