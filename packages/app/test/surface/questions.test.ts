import type { HostQuestion } from '@jackfield/host'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { cancelled } from '../../src/forms/prompter.ts'
import { askApproval } from '../../src/surface/approval.ts'
import { reviewRequest, reviewResult } from '../../src/surface/sampling.ts'
import { scripted } from '../forms/prompter.ts'

const palette = picocolors.createColors(false)
const cause = { server: 'shop', caller: 'chat' as const }

function approval(
  args: Record<string, unknown>,
  remember: readonly ('conversation' | 'always')[] = ['conversation', 'always'],
): Extract<HostQuestion, { kind: 'approval' }> {
  return {
    kind: 'approval',
    id: '1',
    cause,
    tool: {
      name: 'shop__buy',
      server: 'shop',
      tool: {
        name: 'buy',
        description: 'Buys\u001b[2J',
        inputSchema: { type: 'object' },
        annotations: { destructiveHint: true },
      },
    },
    arguments: args,
    decision: { verdict: 'ask', rule: 'default' },
    remember,
    likeness: [],
    labels: [],
  }
}

describe('asking whether a tool may be called', () => {
  test('shows the tool, what the server says of it, the rule and all arguments', async () => {
    const person = scripted('allow')
    expect(await askApproval(approval({ item: 'tea', note: 'a\u001b[31mb' }), person, palette, {})).toEqual({
      verdict: 'allow',
    })
    const text = person.said.join('\n')
    expect(text).toContain('The model wants to call buy of shop')
    expect(text).toContain('may delete or overwrite (not verified)')
    expect(text).toContain('asked because of rule: default')
    expect(text).toContain('"item": "tea"')
    expect(text).not.toContain('\u001b')
    expect(person.initials).toEqual(['deny'])
  })

  test('says how much of long arguments is not shown, and shows all on demand', async () => {
    const item = `start${'x'.repeat(20_000)}end`
    const person = scripted('show', 'allow')
    await askApproval(approval({ item }), person, palette, {})
    const text = person.said.join('\n')
    expect(text).toMatch(/… 16,0\d\d more of 20,0\d\d characters/)
    expect(person.offered[0]).toContain('show')
    expect(person.offered[1]).not.toContain('show')
    expect(person.said.join('')).toContain(item)
  })

  test.each([
    ['allow', { verdict: 'allow' }],
    ['allow-conversation', { verdict: 'allow', remember: { scope: 'conversation' } }],
    ['allow-always', { verdict: 'allow', remember: { scope: 'always' } }],
    ['deny', { verdict: 'deny' }],
    ['deny-always', { verdict: 'deny', remember: { scope: 'always' } }],
    [cancelled, { verdict: 'deny' }],
  ] as const)('%s', async (choice, answer) => {
    expect(await askApproval(approval({}), scripted(choice), palette, {})).toEqual(answer)
  })

  test('offers to remember only what the policy lets be remembered', async () => {
    const person = scripted('deny')
    await askApproval(approval({}, []), person, palette, {})
    expect(person.offered[0]).toEqual(['deny', 'allow', 'edit'])
  })

  test('takes edited arguments, once they are a JSON object', async () => {
    const person = scripted('edit', '{"item":', 'again', '[1]', 'again', '{"item":"coffee"}', 'allow')
    expect(await askApproval(approval({ item: 'tea' }), person, palette, {})).toEqual({
      verdict: 'allow',
      arguments: { item: 'coffee' },
    })
    expect(person.initials[1]).toBe('{"item":"tea"}')
    expect(person.said.join('\n')).toContain('"item": "coffee"')
  })

  test('leaving the editor keeps the arguments as they were', async () => {
    expect(
      await askApproval(approval({ item: 'tea' }), scripted('edit', cancelled, 'allow'), palette, {}),
    ).toEqual({
      verdict: 'allow',
    })
  })

  test('opens the editor the person has set', async () => {
    const env = {
      EDITOR: `${process.execPath} -e require('fs').writeFileSync(process.argv.at(-1),'{"item":"by-editor"}')`,
    }
    expect(await askApproval(approval({ item: 'tea' }), scripted('edit', 'allow'), palette, env)).toEqual({
      verdict: 'allow',
      arguments: { item: 'by-editor' },
    })
  })
})

const request: Extract<HostQuestion, { kind: 'sampling-request' }> = {
  kind: 'sampling-request',
  id: '1',
  cause,
  params: {
    systemPrompt: 'You are a judge.',
    messages: [{ role: 'user', content: { type: 'text', text: 'Who wins?' } }],
    maxTokens: 50,
    temperature: 0.2,
    modelPreferences: { hints: [{ name: 'x' }] },
  },
  choice: { model: 'anthropic/claude', why: 'it is the first of your models', ranking: [] },
  estimate: { inputTokens: 10, outputTokens: 50 },
  redactions: [],
}

describe('reviewing what a server asks a model', () => {
  test('shows model, reason, system prompt, messages and limits, and starts at deny', async () => {
    const person = scripted('allow')
    expect(await reviewRequest(request, person, palette, {})).toEqual({ verdict: 'allow' })
    const text = person.said.join('\n')
    for (const part of [
      'shop wants to ask your model',
      'anthropic/claude (it is the first',
      'at most 50 tokens',
      'temperature 0.2',
      'system: You are a judge.',
      'user: Who wins?',
    ]) {
      expect(text).toContain(part)
    }
    expect(person.initials).toEqual(['deny'])
  })

  test('takes changes to prompt, messages and limit, and keeps the rest', async () => {
    const changed = {
      messages: [{ role: 'user', content: { type: 'text', text: 'Nobody wins?' } }],
      maxTokens: 20,
    }
    const person = scripted('edit', JSON.stringify(changed), 'allow')
    expect(await reviewRequest(request, person, palette, {})).toEqual({
      verdict: 'allow',
      params: { ...changed, temperature: 0.2, modelPreferences: { hints: [{ name: 'x' }] } },
    })
  })

  test.each([
    ['{"messages":[],"maxTokens":5}', 'at least one message'],
    [
      '{"messages":[{"role":"x","content":{"type":"text","text":"a"}}],"maxTokens":5}',
      'each message needs "role"',
    ],
    ['{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":51}', 'from 1 to 50'],
    [
      '{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5,"temperature":1}',
      '"temperature" cannot be changed here',
    ],
    ['null', 'must be a JSON object'],
  ])('refuses a change to %s', async (text, words) => {
    const person = scripted('edit', text, 'leave', 'deny')
    expect(await reviewRequest(request, person, palette, {})).toEqual({ verdict: 'deny' })
    expect(person.said.join('\n')).toContain(words)
  })

  test('Esc is a refusal', async () => {
    expect(await reviewRequest(request, scripted(cancelled), palette, {})).toEqual({ verdict: 'deny' })
  })
})

describe('reviewing what a model answered', () => {
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
  }

  test('shows it whole with why it stopped, and can be changed before it is given', async () => {
    const person = scripted('edit', 'You win.', 'allow')
    expect(await reviewResult(result, person, palette, {})).toEqual({
      verdict: 'allow',
      result: { ...result.result, content: { type: 'text', text: 'You win.' } },
    })
    expect(person.said.join('\n')).toContain('I win.\nstopped: maxTokens')
  })

  test('unchanged, allowed or refused', async () => {
    expect(await reviewResult(result, scripted('allow'), palette, {})).toEqual({ verdict: 'allow' })
    expect(await reviewResult(result, scripted(cancelled), palette, {})).toEqual({ verdict: 'deny' })
  })
})
