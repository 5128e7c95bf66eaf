export { createConversationDesk } from './desk.ts'
