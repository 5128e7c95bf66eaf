export { conversationMetaKey, type Scope } from './scope.ts'
export { createMemoryServer, type MemoryOptions, type MemoryServer } from './server.ts'
export type { Entity, Graph, Relation } from './types.ts'
