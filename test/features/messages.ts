import type { Message } from './probes.ts'

/** The messages of an answer: one, a batch, or the events of a stream. What is no JSON counts as none. */
export function messagesIn(text: string): Message[] {
  const data = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, json = '']) => json)
  return (data.length > 0 ? data : [text]).flatMap(parsed)
}

function parsed(json: string): Message[] {
  try {
    const value: unknown = JSON.parse(json)
    return [value].flat().filter(isMessage)
  } catch {
    return []
  }
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null
}
