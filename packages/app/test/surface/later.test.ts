import { PassThrough } from 'node:stream'
import { type HostQuestion, showQuestion } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { terminalSurface } from '../../src/surface/terminal.ts'

const id = '7244c9a7-0000-4000-8000-000000000000'
const cause = { server: 'shop', tool: 'buy', caller: 'chat' as const }
const tool = {
  name: 'shop__buy',
  server: 'shop',
  tool: { name: 'buy', inputSchema: { type: 'object' as const } },
}
const decision = { verdict: 'ask' as const, rule: 'default' }
const params = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }],
  maxTokens: 5,
}
const choice = { model: 'm', reason: 'it is the only one', ranking: [] }
const page = { mode: 'url' as const, message: 'Pay', url: 'https://pay.example/', elicitationId: 'e' }
const form = {
  message: 'Seat?',
  requestedSchema: { type: 'object' as const, properties: { seat: { type: 'string' as const } } },
}

const questions: [string, HostQuestion][] = [
  [
    'the approval of a call',
    {
      ...{ kind: 'approval', id, cause, tool, arguments: {}, decision },
      ...{ remember: ['always'], likeness: [], labels: [] },
    },
  ],
  [
    'the review of a result',
    { kind: 'result', id, cause, tool, arguments: {}, result: { content: [] }, decision },
  ],
  ['a form', { kind: 'elicitation', id, cause, params: form }],
  ['a page', { kind: 'elicitation', id, cause, params: page }],
  ['a page that was agreed to', { kind: 'elicitation', id, cause, params: page, visit: { opened: true } }],
  [
    'what would be asked of a model',
    {
      ...{ kind: 'sampling-request', id, cause, params, choice },
      ...{ estimate: { inputTokens: 1, outputTokens: 5 }, redactions: [] },
    },
  ],
  [
    'what a server would be told',
    {
      ...{ kind: 'sampling-result', id, cause, params, choice },
      result: { role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'm' },
    },
  ],
  ['folders', { kind: 'roots', id, cause, roots: [{ uri: 'file:///tmp' }, { uri: 'file:///home' }] }],
  [
    'the start of a server',
    { kind: 'start', id, cause, config: { command: 'x' }, command: 'x', findings: [] },
  ],
  ['a change of what a server says', { kind: 'drift', id, cause, changes: [], findings: [] }],
  [
    'signing in',
    { kind: 'login', id, cause, url: 'https://login.example/', issuer: 'https://login.example', scopes: [] },
  ],
]

/** A terminal on which `l` is pressed once something is asked. */
function terminal(options: { store?: string } = {}) {
  const input = new PassThrough()
  const output = new PassThrough()
  let seen = ''
  output.on('data', (chunk) => {
    if (!seen.includes(' [l]') && `${seen}${chunk}`.includes(' [l]')) setImmediate(() => input.write('l'))
    seen += chunk
  })
  const surface = terminalSurface({ input, output, env: { NO_COLOR: '1' }, ...options })
  return { surface, seen: () => seen.replaceAll(/[\s│]+/g, ' ') }
}

describe('deferring', () => {
  test.each(questions)(
    'is one key away from %s, which stays in the inbox with the command that answers it',
    async (_, question) => {
      const { surface, seen } = terminal()
      expect(await showQuestion(surface, question, new AbortController().signal)).toBeUndefined()
      expect(seen()).toContain('Left in the inbox.')
      expect(seen()).toContain('jackfield respond 7244c9a7')
    },
  )

  test('names the store if it is not the default one', async () => {
    const { surface, seen } = terminal({ store: 'other.db' })
    const [, question] = questions[2] ?? []
    if (question === undefined) throw new Error('there is a form')
    await showQuestion(surface, question, new AbortController().signal)
    expect(seen()).toContain('jackfield respond 7244c9a7 --store other.db')
  })

  test('is not reported if the question was answered elsewhere meanwhile', async () => {
    const { surface, seen } = terminal()
    const [, question] = questions[2] ?? []
    if (question === undefined) throw new Error('there is a form')
    const settled = new AbortController()
    const shown = showQuestion(surface, question, settled.signal)
    settled.abort(new Error('answered'))
    await expect(shown).rejects.toThrow('answered')
    expect(seen()).not.toContain('Left in the inbox.')
  })
})
