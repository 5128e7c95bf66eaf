import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { expect } from 'vitest'
import type { Feature, FeatureRun } from './feature.ts'

const person = { name: 'Ada', age: 36, score: 9.5, agreed: true, size: 's' }
const accepting: ConnectOptions = { onElicit: () => ({ action: 'accept', content: person }) }

/** What a server asks of a client, and of the person behind it. */
export const asked: readonly Feature[] = [
  {
    title: 'a form',
    since: '2025-06-18',
    async run(place) {
      const answer = await text(place, 'form', accepting)
      if (place.version < '2025-06-18') expect(answer).toBe('cannot ask')
      else expect(JSON.parse(answer)).toEqual(person)
    },
  },
  {
    title: 'a form that is declined or cancelled',
    since: '2025-06-18',
    async run(place) {
      const lacking = place.version < '2025-06-18' ? 'cannot ask' : undefined
      for (const action of ['decline', 'cancel'] as const) {
        expect(await text(place, 'form', { onElicit: () => ({ action }) })).toBe(lacking ?? action)
      }
    },
  },
  {
    title: 'a URL elicitation',
    since: '2025-11-25',
    async run(place) {
      const urls: string[] = []
      const answer = await text(place, 'visit', {
        elicitation: { url: true },
        onElicit(question) {
          if (question.mode === 'url') urls.push(question.url)
          return { action: 'accept' }
        },
      })
      const known = place.version >= '2025-11-25'
      expect(answer).toBe(known ? 'accept' : 'cannot ask')
      expect(urls).toEqual(known ? ['https://example.com/sign-in'] : [])
    },
  },
  {
    title: 'sampling',
    async run(place) {
      const prompts: unknown[] = []
      const answer = await text(place, 'sample', {
        onSample({ messages, maxTokens, systemPrompt }) {
          prompts.push([messages[0]?.content, maxTokens, systemPrompt])
          return {
            role: 'assistant',
            model: 'tiny',
            content: { type: 'text', text: 'Paris' },
            stopReason: 'endTurn',
          }
        },
      })
      expect(answer).toBe('tiny: {"type":"text","text":"Paris"}')
      expect(prompts).toEqual([[{ type: 'text', text: 'Capital of France?' }, 20, 'Be brief']])
    },
  },
  {
    title: 'sampling with tools',
    since: '2025-11-25',
    async run(place) {
      const use = { type: 'tool_use' as const, id: 'a', name: 'weather', input: { city: 'Rome' } }
      const answer = await text(place, 'sampleTools', {
        sampling: { tools: true },
        onSample: () => ({ role: 'assistant', model: 'tiny', content: [use], stopReason: 'toolUse' }),
      })
      if (place.version < '2025-11-25') expect(answer).toBe('cannot ask')
      else expect(JSON.parse(answer)).toEqual([use])
    },
  },
  {
    title: 'roots',
    async run(place) {
      const onRoots = [{ uri: 'file:///home/ada' }, { uri: 'file:///srv' }]
      expect(await text(place, 'roots', { onRoots })).toBe('file:///home/ada file:///srv')
    },
  },
  {
    title: 'several questions in one call, with effects that happen once',
    since: '2025-06-18',
    async run(place) {
      const answer = await text(place, 'book', {
        onElicit: () => ({ action: 'accept', content: { ok: true } }),
      })
      expect(answer).toBe(place.version < '2025-06-18' ? 'cannot ask' : 'accept accept 1 of 2')
    },
  },
  {
    title: 'a client without the required capability',
    async run({ open }) {
      const client = await open({})
      for (const tool of ['form', 'visit', 'sample', 'sampleTools', 'roots']) {
        expect(await textFrom(client, tool)).toBe('cannot ask')
      }
    },
  },
]

async function text({ open }: FeatureRun, tool: string, options: ConnectOptions): Promise<string> {
  return textFrom(await open(options), tool)
}

async function textFrom(client: Client, tool: string): Promise<string> {
  const { content } = await client.call(tool)
  const [block] = content
  return block?.type === 'text' ? block.text : ''
}
