export * from './client-entry.ts'
export type { ConversationService, LiveConversation } from './conversations.ts'
export { createPeerServer, type PeerServer } from './peer.ts'
export { HostService, type HostServiceOptions } from './service.ts'
