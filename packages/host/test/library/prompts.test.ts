import { describe, expect, test } from 'vitest'
import { createConversation } from '../../src/models/agent/index.ts'
import { createLibrary } from '../../src/resources/library.ts'
import type { CatalogPrompt } from '../../src/types/index.ts'
import { scripted, started } from '../fixtures/hosts.ts'
import { greet, listed, shelf } from './shelf.ts'

async function twoShelves() {
  const one = await shelf({ prompts: { greet } })
  const other = await shelf({ prompts: { greet } })
  return { one: { url: one.url }, other: { url: other.url } }
}

describe('prompts', () => {
  test('with the same name on two servers have stable names', async () => {
    const servers = await twoShelves()
    const first = await started({ servers })
    const again = await started({ servers: { other: servers.other, one: servers.one } })
    expect(first.library.prompts().map(({ command }) => command)).toEqual(['one.greet', 'other.greet'])
    expect(again.library.prompts().map(({ command }) => command)).toEqual(['other.greet', 'one.greet'])
    const { prompt } = await first.library.prompt('/other.greet', { name: 'Ada' })
    expect(prompt).toMatchObject({ server: 'other', name: 'other__greet', prompt: { title: 'Greeting' } })
    await expect(first.library.prompt('greet', { name: 'Ada' })).rejects.toThrow(
      'There is no prompt "greet" at present. Did you mean one.greet or other.greet?',
    )
  })

  test('are sent as previewed or edited', async () => {
    const host = await started({ servers: await twoShelves() })
    const preview = await host.library.prompt('one.greet', { name: 'Ada' })
    expect(preview.messages).toEqual([
      {
        role: 'user',
        content: { type: 'text', text: 'Say something warm to Ada' },
        tokens: 8,
      },
      {
        role: 'user',
        content: { type: 'text', text: 'Only for your eyes', annotations: { audience: ['user'] } },
        tokens: 0,
        withheld: 'its server marks it for the user only',
      },
      {
        role: 'assistant',
        content: {
          type: 'resource',
          resource: { uri: 'note://style', mimeType: 'text/plain', text: 'Be brief' },
        },
        tokens: 10,
      },
    ])
    expect(preview.tokens).toBe(18)
    const model = scripted('m')
    const conversation = createConversation({ host, model })
    await conversation.say(preview.input)
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Say something warm to Ada' } },
      { role: 'assistant', content: { type: 'text', text: '[resource note://style]\nBe brief' } },
    ])
    const [opening] = preview.input
    const edited = { role: 'user' as const, content: { type: 'text' as const, text: 'Shout at Ada' } }
    await conversation.say([edited])
    expect(opening).not.toEqual(edited)
    expect(model.requests[1]?.messages.at(-1)).toEqual(edited)
  })

  test('with missing or unknown arguments are rejected before the server is asked', async () => {
    const host = await started({ servers: await twoShelves() })
    await expect(host.library.prompt('one.greet', {})).rejects.toThrow('The prompt one.greet needs name')
    await expect(host.library.prompt('one.greet', { nmae: 'Ada' })).rejects.toThrow(
      'The prompt one.greet needs name, and does not have nmae; it takes name, tone',
    )
    expect(host.activity({ kind: 'prompt' })).toEqual([])
  })

  test('have unique commands, whatever servers call them', () => {
    const prompts = [
      ['a', 'b.c'],
      ['a.b', 'c'],
      ['a', 'two words'],
      ['a', 'hid\u200bden'],
      ['a', 'x'.repeat(200)],
      ['a', 'plain'],
    ].map(
      ([server = '', name = ''], n): CatalogPrompt => ({ server, name: `host_name_${n}`, prompt: { name } }),
    )
    const commands = createLibrary(listed({ prompts }), () => {})
      .prompts()
      .map(({ command }) => command)
    expect(commands).toEqual(['a.b.c', 'host_name_1', 'host_name_2', 'host_name_3', 'host_name_4', 'a.plain'])
  })
})
