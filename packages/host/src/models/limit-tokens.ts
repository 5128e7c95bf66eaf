import type { SamplingContent } from '@jackfield/sdk'
import type { ModelReply } from '../types/index.ts'

/**
 * Limits a reply to so many tokens. Models get the limit; of one that `used` more anyway, only the proportional share of text is
 * kept, and the reply is marked as cut.
 */
export function limitTokens(reply: ModelReply, maxTokens: number, used: number): ModelReply {
  if (used <= maxTokens) return reply
  const blocks: SamplingContent[] = Array.isArray(reply.content) ? reply.content : [reply.content]
  const texts = blocks.filter((block) => block.type === 'text')
  let room = Math.floor((texts.reduce((sum, { text }) => sum + text.length, 0) * maxTokens) / used)
  const content = texts.flatMap(({ text }) => {
    const kept = text.slice(0, room).replace(/[\ud800-\udbff]$/, '')
    room -= kept.length
    return kept === '' ? [] : [{ type: 'text' as const, text: kept }]
  })
  return { ...reply, content, stopReason: 'maxTokens' }
}
