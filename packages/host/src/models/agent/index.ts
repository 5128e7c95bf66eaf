export {
  type Conversation,
  type ConversationOptions,
  createConversation,
  type LateResult,
  type Said,
  type SayOptions,
  type ToolCallEvent,
  type Turn,
} from './conversation.ts'
export { promptMessages } from './prompt-messages.ts'
