import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modelsFromEnvironment } from '../../src/models/environment.ts'
import { scriptModel } from '../../src/models/script.ts'
import type { Model, ModelReply, ModelRequest } from '../../src/types/index.ts'
import { folder } from '../fixtures/hosts.ts'

function script(json: unknown): string {
  const file = join(folder(), 'demo.json')
  writeFileSync(file, typeof json === 'string' ? json : JSON.stringify(json))
  return file
}

function ask(model: Model, more: Partial<ModelRequest> = {}): Promise<ModelReply> {
  return model.generate({
    messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
    maxTokens: 100,
    ...more,
  })
}

test('a script returns its replies in order, in pieces, with calls and usage', async () => {
  const usage = { inputTokens: 5, outputTokens: 2 }
  const call = [{ name: 'look', arguments: { at: 'it' } }, { name: 'wait' }]
  const file = script({ contextTokens: 500, turns: [{ say: 'Let me see.', call, usage }, { say: 'Done.' }] })
  const [model] = modelsFromEnvironment({ JACKFIELD_MODEL: `script:${file}` })
  if (model === undefined) throw new Error('no model')
  expect(model).toMatchObject({ id: 'script:demo.json', contextTokens: 500, isLanguageModel: true })
  const deltas: string[] = []
  expect(await ask(model, { onText: (delta) => deltas.push(delta) })).toMatchObject({
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', name: 'look', input: { at: 'it' } },
      { type: 'tool_use', name: 'wait', input: {} },
    ],
    stopReason: 'toolUse',
    usage,
  })
  expect(deltas).toEqual(['Let ', 'me ', 'see.'])
  expect(await ask(model)).toMatchObject({ content: [{ text: 'Done.' }], stopReason: 'endTurn' })
  expect(await ask(model)).toMatchObject({ content: [{ text: 'The script has nothing more to say.' }] })
})

test('a script keeps a reply with calls for later if calls are not allowed', async () => {
  const model = scriptModel(script({ turns: [{ call: [{ name: 'look' }] }] }))
  expect(await ask(model, { toolChoice: 'none' })).toMatchObject({ stopReason: 'endTurn' })
  expect(await ask(model)).toMatchObject({ stopReason: 'toolUse' })
})

test('a script that cannot be read is reported with the reason and what to check', () => {
  const missing = join(folder(), 'none.json')
  expect(() => scriptModel(missing)).toThrow(
    `The script ${missing} of the model cannot be read: there is no such file. Check the path after "script:".`,
  )
  expect(() => scriptModel(folder())).toThrow('cannot be read: it is a folder.')
})

test.each([
  ['{', /not a script for a model: .*JSON/],
  [{}, /it needs "turns", a list/],
  [{ turns: [{ say: 'a' }, { say: 1 }] }, /turn 2 is invalid/],
  [{ turns: [{ call: [{ arguments: {} }] }] }, /turn 1 is invalid/],
  [{ turns: [{ usage: { inputTokens: 1 } }] }, /turn 1 is invalid/],
  [{ turns: [], contextTokens: 'many' }, /"contextTokens" must be a number/],
])('an invalid script is rejected: %j', (json, words) => {
  expect(() => scriptModel(script(json))).toThrow(words)
})
