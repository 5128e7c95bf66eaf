export { listChanges, ServerConnection } from './connection.ts'
export type { ServerLists } from './lists.ts'
