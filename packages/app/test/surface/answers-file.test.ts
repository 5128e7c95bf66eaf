import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HostQuestion } from '@jackfield/host'
import type { ElicitParams } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { answersSurface, modelsNamed, readAnswers } from '../../src/surface/answers-file.ts'

const never = new AbortController().signal
const cause = { server: 'travel' }

function elicitation(params: ElicitParams): Extract<HostQuestion, { kind: 'elicitation' }> {
  return { kind: 'elicitation', id: '1', cause, params }
}

function form(message: string): ElicitParams {
  return {
    message,
    requestedSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  }
}

const choice = { model: 'offline', reason: '', ranking: [] }

function sampling(text: string): Extract<HostQuestion, { kind: 'sampling-request' }> {
  return {
    kind: 'sampling-request',
    id: '1',
    cause,
    params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 10 },
    choice,
    estimate: { inputTokens: 0, outputTokens: 10 },
    redactions: [],
  }
}

describe('an answers file', () => {
  test('supports only the kinds of question it has entries for', () => {
    const none = answersSurface({}, () => {})
    expect(Object.keys(none.show)).toEqual([])
    const some = answersSurface({ elicitation: [], roots: 'deny' }, () => {})
    expect(Object.keys(some.show).toSorted()).toEqual(['elicitation', 'roots'])
  })

  test('answers a form by the first entry that matches a part or an expression of its message', async () => {
    const surface = answersSurface(
      {
        elicitation: [
          { match: 'delete', action: 'decline' },
          { match: '/^confirm/i', action: 'accept', content: { n: 1 } },
          { action: 'accept', content: { n: 2 } },
        ],
      },
      () => {},
    )
    const answer = (message: string) => surface.show.elicitation?.(elicitation(form(message)), never)
    expect(await answer('delete all?')).toEqual({ action: 'decline' })
    expect(await answer('Confirm it')).toEqual({ action: 'accept', content: { n: 1 } })
    expect(await answer('Please confirm')).toEqual({ action: 'accept', content: { n: 2 } })
  })

  test('does not answer a question without a matching entry, and never refuses for the user', async () => {
    const reported: string[] = []
    const surface = answersSurface(
      { elicitation: [{ match: 'a', action: 'accept', content: { n: 'x' } }] },
      (message) => reported.push(message),
    )
    await expect(surface.show.elicitation?.(elicitation(form('zzz')), never)).rejects.toThrow(
      'no matching entry',
    )
    await expect(surface.show.elicitation?.(elicitation(form('a')), never)).rejects.toThrow(
      'does not fit the form',
    )
    expect(reported).toEqual([
      'travel asked "zzz": the answers file has no matching entry.',
      expect.stringContaining('travel asked "a": the answer does not fit the form: "n" must be a number'),
    ])
  })

  test('accepts a URL elicitation without content', async () => {
    const surface = answersSurface({ elicitation: [{ action: 'accept', content: { n: 1 } }] }, () => {})
    const urlQuestion = elicitation({ mode: 'url', message: 'Sign in', url: 'https://a.example' })
    expect(await surface.show.elicitation?.(urlQuestion, never)).toEqual({ action: 'accept' })
  })

  test('answers a sampling request with its text, or lets a model answer', async () => {
    const surface = answersSurface(
      {
        sampling: [
          { match: 'capital', text: 'Paris' },
          { match: 'plan', model: 'offline' },
        ],
      },
      () => {},
    )
    const { params } = sampling('capital?')
    expect(await surface.show['sampling-request']?.(sampling('capital?'), never)).toEqual({
      verdict: 'allow',
    })
    const made = { role: 'assistant' as const, content: { type: 'text' as const, text: 'made' }, model: 'm' }
    const result = { kind: 'sampling-result' as const, id: '1', cause, params, result: made, choice }
    expect(await surface.show['sampling-result']?.(result, never)).toMatchObject({
      verdict: 'allow',
      result: { content: { type: 'text', text: 'Paris' }, model: 'answers-file' },
    })
    const plan = { ...result, params: sampling('plan').params }
    expect(await surface.show['sampling-result']?.(plan, never)).toEqual({ verdict: 'allow' })
    expect(await surface.show['sampling-request']?.(sampling('else'), never)).toMatchObject({
      verdict: 'deny',
    })
    expect(modelsNamed({ sampling: [{ text: 'x' }, { model: 'offline' }] })).toEqual(['offline'])
  })

  test('allows a call only with a matching entry', async () => {
    const approvals = ['echo', 'files__remove'].map((tool) => ({ tool, verdict: 'allow' as const }))
    const surface = answersSurface({ approvals }, () => {})
    const ask = (name: string, server = 's') =>
      surface.show.approval?.(
        {
          kind: 'approval',
          id: '1',
          cause,
          tool: { name: `${server}__${name}`, server, tool: { name, inputSchema: { type: 'object' } } },
          arguments: {},
          decision: { verdict: 'ask', rule: 'default' },
          remember: [],
          likeness: [],
          labels: [],
        },
        never,
      )
    expect(await ask('echo')).toEqual({ verdict: 'allow' })
    await expect(ask('rm')).rejects.toThrow('has no entry for rm under "approvals"')
    expect(await ask('remove', 'files')).toEqual({ verdict: 'allow' })
    await expect(ask('files__remove', 'evil')).rejects.toThrow('has no entry for files__remove')
  })
})

describe('an invalid file is rejected with the reason', () => {
  const read = (text: string) => {
    const file = join(mkdtempSync(join(tmpdir(), 'answers-')), 'a.json')
    writeFileSync(file, text)
    return readAnswers(file)
  }

  test.each([
    ['{', 'cannot be read'],
    ['[]', 'must be a JSON object'],
    ['{"elicit":[]}', '"elicit" is unknown'],
    ['{"elicitation":{}}', '"elicitation" must be a list'],
    ['{"elicitation":[{"action":"ok"}]}', '"elicitation" entry 1 must have "action"'],
    ['{"elicitation":[{"action":"accept","match":"/(/"}]}', 'bad regular expression'],
    ['{"sampling":[{"match":"x"}]}', '"sampling" entry 1 must have "text"'],
    ['{"approvals":[{"verdict":"yes"}]}', '"approvals" entry 1 must have "verdict"'],
    ['{"roots":"yes"}', '"roots" must be'],
  ])('%s', (text, words) => {
    expect(() => read(text)).toThrow(words)
  })

  test('and a valid one is read', () => {
    expect(read('{"elicitation":[{"action":"accept","content":{"a":1}}],"roots":"allow"}')).toMatchObject({
      roots: 'allow',
    })
    expect(() => readAnswers('/nowhere/a.json')).toThrow('cannot be read')
  })
})
