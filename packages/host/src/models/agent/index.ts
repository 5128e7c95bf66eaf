export { promptMessages } from './blocks.ts'
export {
  type Conversation,
  type ConversationOptions,
  createConversation,
  type LateResult,
  type SayOptions,
  type ToolCallEvent,
  type Turn,
  type UserInput,
} from './conversation.ts'
