import { tool } from '@jackfield/sdk'
import { expect, test } from 'vitest'
import { createConversation, type ToolCallEvent } from '../../src/models/agent/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { started } from '../fixtures/hosts.ts'
import { note, shelf } from './shelf.ts'

const pin = 'PIN 4711'

test('content for the user alone is sent to no model, and is shown to the user', async () => {
  const { url } = await shelf({
    tools: {
      pin: tool({
        description: 'Makes a card',
        run: () => [
          { type: 'text', text: 'The card is made' },
          { type: 'text', text: pin, annotations: { audience: ['user'] } },
        ],
      }),
    },
    resources: {
      letter: note('letter://pin', () => pin, { annotations: { audience: ['user'] } }),
      card: note('letter://card', () => 'a card', { annotations: { audience: ['user', 'assistant'] } }),
    },
  })
  const host = await started({ servers: { bank: { url } }, rules: [{ id: 'all', verdict: 'allow' }] })
  const model = scriptedModel(
    uses(
      '',
      ['bank__pin'],
      ['list_resources'],
      ['read_resource', { server: 'bank', uri: 'letter://pin' }],
      ['read_resource', { server: 'bank', uri: 'letter://card' }],
      ['run_code', { program: 'const made = await servers.bank.pin(); show(made); return made' }],
    ),
    textReply('Done.'),
  )
  const ended: Extract<ToolCallEvent, { type: 'end' }>[] = []
  const conversation = createConversation({ host, model, codeMode: true })
  await conversation.say('Make me a card', {
    onToolCall: (event) => void (event.type === 'end' && ended.push(event)),
  })

  const given = JSON.stringify(model.requests)
  expect(given).not.toContain(pin)
  expect(given).toContain('1 part of this result is for the person alone and not given to you')
  expect(given).toContain('letter://pin of bank is not given to you: its server marks it for the user only')
  expect(given).toContain('a card')
  expect(JSON.stringify(ended.find(({ name }) => name === 'bank__pin')?.result)).toContain(pin)
  expect(ended.find(({ name }) => name === 'list_resources')?.result.content).toEqual([
    { type: 'text', text: expect.not.stringContaining('letter://pin') },
  ])

  const program = ended.find(({ name }) => name === 'run_code')
  expect(program?.result.isError).not.toBe(true)
  expect(JSON.stringify(program?.result)).toContain('The card is made')

  const own = await host.code.run('return (await servers.bank.pin()).text')
  expect(own.value).toContain(pin)
})
