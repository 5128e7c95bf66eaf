import type { SamplingContent } from '@jackfield/sdk'
import type { ModelReply } from '../types/index.ts'

/**
 * A reply of at most so many tokens. Models are told the limit; of one that `used` more all the same, only the share of
 * text that fits is kept, and the reply says that it was cut.
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
