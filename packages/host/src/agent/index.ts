export {
  type Conversation,
  type ConversationOptions,
  createConversation,
  type Said,
  type SayOptions,
  type ToolCallEvent,
  type Turn,
} from './conversation.ts'
export { promptMessages } from './prompt-messages.ts'
