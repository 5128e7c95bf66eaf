export { ServerConnection } from './connection.ts'
export { listChanges } from './keeper.ts'
export { noLists, type ServerLists } from './lists.ts'
export { describe, isUp } from './states.ts'
