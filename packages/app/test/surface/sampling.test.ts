import type { HostQuestion } from '@jackfield/host'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { cancelled } from '../../src/forms/prompter.ts'
import { reviewRequest, reviewResult } from '../../src/surface/sampling.ts'
import { scripted } from '../forms/prompter.ts'

const palette = picocolors.createColors(false)
const cause = { server: 'shop', tool: 'buy', caller: 'chat' as const }
const tool = { name: 'look', inputSchema: { type: 'object' as const } }

const request: Extract<HostQuestion, { kind: 'sampling-request' }> = {
  kind: 'sampling-request',
  id: '1',
  cause,
  params: {
    systemPrompt: 'You are a judge.',
    messages: [{ role: 'user', content: { type: 'text', text: 'Who wins\u001b[2J?' } }],
    maxTokens: 50,
    temperature: 0.2,
    modelPreferences: { hints: [{ name: 'x' }] },
  },
  choice: {
    model: 'anthropic/claude',
    reason: 'it is the first of your models',
    ranking: [
      { model: 'anthropic/claude', score: 0.7, reason: 'cost 0.45' },
      { model: 'ollama/llama', score: 0.3, reason: 'cost 1.00' },
    ],
  },
  estimate: { inputTokens: 10, outputTokens: 50, cost: 0.00123, currency: 'EUR' },
  redactions: [{ rule: 'api-key', count: 2, at: ['systemPrompt', 'messages[0]'] }],
}

describe('the review of a sampling request', () => {
  test('shows model, reason, price, redactions, and the whole request, and starts at deny', async () => {
    const person = scripted('allow')
    expect(await reviewRequest(request, person, palette, {})).toEqual({ verdict: 'allow' })
    const text = person.printed.join('\n')
    for (const part of [
      'shop wants to use your model',
      'during buy',
      'anthropic/claude (it is the first of your models)',
      'others: ollama/llama 0.30',
      'about 10 input tokens, at most 50 output tokens, about 0.0012 EUR',
      'redacted before it is sent: 2 × api-key (systemPrompt, messages[0])',
      'at most 50 tokens',
      'temperature 0.2',
      'system: You are a judge.',
      'user: Who wins?',
    ]) {
      expect(text).toContain(part)
    }
    expect(text).not.toContain('\u001b')
    expect(person.initials).toEqual(['deny'])
  })

  test('shows every tool in full', async () => {
    const person = scripted('deny')
    const params = { ...request.params, tools: [tool], toolChoice: { mode: 'required' as const } }
    await reviewRequest({ ...request, params }, person, palette, {})
    const text = person.printed.join('\n')
    expect(text).toContain('1 tools (required)')
    expect(text).toContain(`tool: ${JSON.stringify(tool)}`)
  })

  test('accepts a change of everything at once, except fixed parts', async () => {
    const changed = {
      messages: [{ role: 'user', content: { type: 'text', text: 'Nobody wins?' } }],
      maxTokens: 20,
      tools: [tool],
      toolChoice: { mode: 'none' },
      stopSequences: ['.'],
    }
    const person = scripted('edit', 'all', JSON.stringify(changed), 'allow')
    expect(await reviewRequest(request, person, palette, {})).toEqual({
      verdict: 'allow',
      params: { ...changed, modelPreferences: { hints: [{ name: 'x' }] } },
    })
    expect(person.printed.join('\n')).toContain('user: Nobody wins?')
  })

  test.each<[string, string, object]>([
    ['systemPrompt', 'Judge fairly.', { systemPrompt: 'Judge fairly.' }],
    ['maxTokens', '7', { maxTokens: 7 }],
    ['temperature', '1', { temperature: 1 }],
    ['stopSequences', '["a","b"]', { stopSequences: ['a', 'b'] }],
    ['tools', JSON.stringify([tool]), { tools: [tool] }],
    ['toolChoice', '{"mode":"auto"}', { toolChoice: { mode: 'auto' } }],
  ])('accepts a change of %s alone', async (part, typed, change) => {
    const person = scripted('edit', part, typed, 'allow')
    expect(await reviewRequest(request, person, palette, {})).toEqual({
      verdict: 'allow',
      params: { ...request.params, ...change },
    })
  })

  test.each([
    ['systemPrompt', ''],
    ['temperature', 'null'],
  ] as const)('omits %s if the user clears it', async (part, typed) => {
    const { [part]: _left, ...rest } = request.params
    expect(await reviewRequest(request, scripted('edit', part, typed, 'allow'), palette, {})).toEqual({
      verdict: 'allow',
      params: rest,
    })
  })

  test.each([
    ['{"messages":[],"maxTokens":5}', '"messages" must be a list of messages'],
    ['{"messages":[{"role":"x","content":{"type":"text","text":"a"}}],"maxTokens":5}', 'each with "role"'],
    ['{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":51}', 'from 1 to 50'],
    [
      '{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5,"metadata":{}}',
      '"metadata" cannot be changed here',
    ],
    ['null', 'must be a JSON object'],
  ])('rejects a change of %s', async (text, words) => {
    const person = scripted('edit', 'all', text, 'leave', 'deny')
    expect(await reviewRequest(request, person, palette, {})).toEqual({ verdict: 'deny' })
    expect(person.printed.join('\n')).toContain(words)
  })

  test('can select another model', async () => {
    const person = scripted('model', 'ollama/llama', 'allow')
    expect(await reviewRequest(request, person, palette, {})).toEqual({
      verdict: 'allow',
      model: 'ollama/llama',
    })
  })

  test('adds context only on request, after showing it in full', async () => {
    const texts = [
      { id: '9', server: 'shop', label: 'buy {}', text: 'buy {} of shop gave:\nthree teas', tokens: 9 },
    ]
    const question = { ...request, context: { wanted: 'thisServer' as const, texts } }
    const silent = scripted('allow')
    expect(await reviewRequest(question, silent, palette, {})).toEqual({ verdict: 'allow' })
    expect(silent.printed.join('\n')).toContain('1 texts, 31 characters, not added unless you say so')
    expect(silent.printed.join('\n')).not.toContain('three teas')
    const willing = scripted('context', 'allow')
    expect(await reviewRequest(question, willing, palette, {})).toEqual({ verdict: 'allow', context: true })
    expect(willing.printed.join('\n')).toContain('three teas')
    const wavering = scripted('context', 'context', 'allow')
    expect(await reviewRequest(question, wavering, palette, {})).toEqual({ verdict: 'allow' })
  })

  test('says that nothing can be added if the conversation is unknown', async () => {
    const person = scripted('deny')
    await reviewRequest({ ...request, context: { wanted: 'allServers', texts: [] } }, person, palette, {})
    expect(person.printed.join('\n')).toContain('nothing can be added')
    expect(person.offered[0]).not.toContain('context')
  })

  test('can skip later reviews, or refuse; Esc defers it', async () => {
    const answer = (choice: string | typeof cancelled) =>
      reviewRequest(request, scripted(choice), palette, {})
    expect(await answer('allow-conversation')).toEqual({ verdict: 'allow', remember: 'conversation' })
    expect(await answer('allow-always')).toEqual({ verdict: 'allow', remember: 'always' })
    expect(await answer('deny')).toEqual({ verdict: 'deny' })
    expect(await answer(cancelled)).toBeUndefined()
  })

  test('says why it asks again', async () => {
    const person = scripted('deny')
    await reviewRequest({ ...request, problem: 'there is no model "x"' }, person, palette, {})
    expect(person.printed.join('\n')).toContain('✗ this could not be sent: there is no model "x"')
  })
})

describe('the review of a sampling result', () => {
  const result: Extract<HostQuestion, { kind: 'sampling-result' }> = {
    kind: 'sampling-result',
    id: '1',
    cause,
    params: request.params,
    choice: request.choice,
    result: {
      role: 'assistant',
      content: { type: 'text', text: 'I win.' },
      model: 'claude',
      stopReason: 'maxTokens',
    },
    usage: { inputTokens: 12, outputTokens: 50, cost: 0.5, currency: 'USD' },
  }

  test('shows it in full with usage and stop reason, and can change it before it is sent', async () => {
    const person = scripted('edit', 'You win.', 'allow')
    expect(await reviewResult(result, person, palette, {})).toEqual({
      verdict: 'allow',
      result: { ...result.result, content: { type: 'text', text: 'You win.' } },
    })
    expect(person.printed.join('\n')).toContain('I win.\nstopped: maxTokens')
    expect(person.printed.join('\n')).toContain('12 input tokens, 50 output tokens, about 0.5 USD')
  })

  test('edits a result with other blocks than text as JSON', async () => {
    const content = [{ type: 'tool_use' as const, id: 'u', name: 'look', input: {} }]
    const person = scripted('edit', '[{"type":"tool_use","id":"u","name":"look","input":{"a":1}}]', 'allow')
    const question = { ...result, result: { ...result.result, content } }
    expect(await reviewResult(question, person, palette, {})).toEqual({
      verdict: 'allow',
      result: { ...result.result, content: [{ ...content[0], input: { a: 1 } }] },
    })
  })

  test('compares it with the earlier ones, of which one can be chosen and changed', async () => {
    const first = { ...result.result, content: { type: 'text' as const, text: 'You win.' } }
    const usage = { inputTokens: 12, outputTokens: 3 }
    const question = { ...result, earlier: [{ model: 'ollama/llama', result: first, usage }] }
    const person = scripted('earlier', '0', 'allow')
    expect(await reviewResult(question, person, palette, {})).toEqual({ verdict: 'allow', chosen: 0 })
    expect(person.printed.join('\n')).toMatch(/Answer 1.*You win\..*Answer 2.*I win\./s)
    expect(
      await reviewResult(question, scripted('earlier', '0', 'edit', 'Both.', 'allow'), palette, {}),
    ).toEqual({
      verdict: 'allow',
      chosen: 0,
      result: { ...first, content: { type: 'text', text: 'Both.' } },
    })
    expect(await reviewResult(question, scripted('earlier', cancelled, 'allow'), palette, {})).toEqual({
      verdict: 'allow',
    })
  })

  test.each<[(string | typeof cancelled)[], object | undefined]>([
    [['allow'], { verdict: 'allow' }],
    [['allow-conversation'], { verdict: 'allow', remember: 'conversation' }],
    [['allow-always'], { verdict: 'allow', remember: 'always' }],
    [['again'], { verdict: 'regenerate' }],
    [['model', 'ollama/llama'], { verdict: 'regenerate', model: 'ollama/llama' }],
    [['model', cancelled, 'deny'], { verdict: 'deny' }],
    [[cancelled], undefined],
  ])('%j', async (choices, answer) => {
    expect(await reviewResult(result, scripted(...choices), palette, {})).toEqual(answer)
  })
})
