import type { SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { blocksOf, textOf } from '../messages.ts'

/** One tool call of the conversation and what came of it. */
export interface Done {
  /** The tool's own name, without the server's before it. */
  tool: string
  input: Record<string, unknown>
  text: string
  /** The JSON value in the result, where there is one. */
  value: unknown
  isError: boolean
  /** The message that holds the result. */
  index: number
}

/** What the person said, oldest first, without resources that were added and without messages of the host to a model. */
export function personTexts(messages: readonly SamplingMessage[]): { index: number; text: string }[] {
  return messages.flatMap((message, index) => {
    const blocks = blocksOf(message.content)
    if (message.role !== 'user' || isOfHost(blocks[0])) return []
    const text = blocks
      .flatMap((block) => (block.type === 'text' && !block.text.startsWith('[resource ') ? [block.text] : []))
      .join('\n')
      .slice(0, 5_000)
    return text.trim() === '' ? [] : [{ index, text }]
  })
}

/** Messages that the host writes to a model are marked so. */
function isOfHost(block: SamplingContent | undefined): boolean {
  return block?.type === 'text' && block.text.startsWith('[From Jackfield')
}

/** URIs of resources that are part of the conversation: added by the person, or asked for with a tool. */
export function resourcesSeen(messages: readonly SamplingMessage[]): Set<string> {
  const uris = messages.flatMap((message) =>
    blocksOf(message.content).flatMap((block) => {
      if (block.type === 'text') {
        return [...block.text.matchAll(/^\[resource (\S+?)\]/gm)].map((match) => match[1] ?? '')
      }
      return block.type === 'tool_use' && typeof block.input.uri === 'string' ? [block.input.uri] : []
    }),
  )
  return new Set(uris)
}

/** The tool calls made from a message on, with their results. */
export function callsSince(messages: readonly SamplingMessage[], from: number): Done[] {
  const asked = new Map<string, { tool: string; input: Record<string, unknown> }>()
  const done: Done[] = []
  for (const [index, message] of messages.entries()) {
    if (index < from) continue
    for (const block of blocksOf(message.content)) {
      if (block.type === 'tool_use') asked.set(block.id, { tool: baseName(block.name), input: block.input })
      if (block.type !== 'tool_result') continue
      const call = asked.get(block.toolUseId)
      if (call === undefined) continue
      const texts = block.content.map((one) => textOf(one, 'the offline planner takes text only'))
      done.push({
        ...call,
        text: texts.join('\n'),
        value: jsonIn(texts),
        isError: block.isError === true,
        index,
      })
    }
  }
  return done
}

/** A tool's own name: what follows the server's in `server__tool`. */
export function baseName(name: string): string {
  const at = name.indexOf('__')
  return at === -1 ? name : name.slice(at + 2)
}

/** The last text that is a JSON object or array. */
function jsonIn(texts: readonly string[]): unknown {
  for (const text of texts.toReversed()) {
    if (!/^\s*[[{]/.test(text)) continue
    try {
      return readJson(text)
    } catch {
      // Text that only begins like JSON.
    }
  }
  return undefined
}

/** Follows names into a value; undefined where there is no such place. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let current = value
  for (const name of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined
    current = Object.entries(current).find(([key]) => key === String(name))?.[1]
  }
  return current
}

/** The text at a place in a value. */
export function textAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : typeof found === 'number' ? String(found) : undefined
}
