import { type CreateMessageParams, McpError } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { patternProblem } from '../../src/config/sampling-section.ts'
import { createSamplingRedactor } from '../../src/models/sampling/redact.ts'
import type { RedactionRule } from '../../src/types/index.ts'
import { hostOf } from '../fixtures/hosts.ts'

const paramsOf = (text: string): CreateMessageParams => ({
  messages: [{ role: 'user', content: { type: 'text', text } }],
  maxTokens: 5,
})
const blanked = (text: string, rules: RedactionRule[] = []): string => {
  const { content } = createSamplingRedactor(rules).redact(paramsOf(text)).params.messages[0] ?? {}
  return content !== undefined && 'text' in content ? content.text : ''
}
const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc==\n-----END RSA PRIVATE KEY-----'

describe('a request to a model', () => {
  it.each([
    ['key sk-proj-abcdefghijklmnop1234 end', 'key [redacted: api-key] end'],
    ['GITHUB=ghp_abcdefghijklmnopqrst0123456789', 'GITHUB=[redacted: api-key]'],
    ['AKIAIOSFODNN7EXAMPLE', '[redacted: api-key]'],
    ['Authorization: Bearer abcDEF123._-~+/==', 'Authorization: [redacted: bearer-token]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', '[redacted: bearer-token]'],
    [`before ${pem} after`, 'before [redacted: private-key] after'],
    ['-----BEGIN PRIVATE KEY-----\nMIIE without an end', '[redacted: private-key]'],
    [
      'a bearer of news, sk-short, task-force-alpha-beta',
      'a bearer of news, sk-short, task-force-alpha-beta',
    ],
    ['ada@example.org', 'ada@example.org'],
  ])('%j becomes %j', (text, expected) => {
    expect(blanked(text)).toBe(expected)
  })

  it('redacts what the user configured, and mail addresses if enabled', () => {
    const rules: RedactionRule[] = [{ name: 'ticket', pattern: 'T-\\d+' }, { builtin: 'email' }]
    expect(blanked('T-1 of ada.l+x@mail.example.org: T-22', rules)).toBe(
      '[redacted: ticket] of [redacted: email]: [redacted: ticket]',
    )
  })

  it('keeps what the user excluded from the rules', () => {
    const text = 'sk-abcdefghijklmnop1234'
    expect(blanked(text, [{ builtin: 'api-key', off: true }])).toBe(text)
  })

  it('is redacted everywhere a model would read, and redactions are counted by place', () => {
    const secret = 'sk-abcdefghijklmnop1234'
    const params: CreateMessageParams = {
      systemPrompt: `use ${secret}`,
      maxTokens: 5,
      stopSequences: [secret],
      messages: [
        { role: 'user', content: [{ type: 'text', text: `${secret} and ${secret}` }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'u1', name: 'look', input: { deep: [{ key: secret }], type: secret } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              toolUseId: 'u1',
              content: [
                { type: 'text', text: secret },
                { type: 'resource', resource: { uri: 'a:b', text: secret } },
              ],
              structuredContent: { all: [secret] },
            },
          ],
        },
      ],
      tools: [
        {
          name: 'look',
          description: secret,
          inputSchema: { type: 'object', properties: { key: { type: 'string', description: secret } } },
        },
      ],
    }
    const { params: sent, redactions } = createSamplingRedactor().redact(params)
    expect(JSON.stringify(sent)).not.toContain('abcdefghijklmnop')
    expect(sent.messages[1]).toMatchObject({ content: [{ type: 'tool_use', id: 'u1', name: 'look' }] })
    expect(redactions).toEqual([
      {
        rule: 'api-key',
        count: 11,
        at: ['messages[0]', 'messages[1]', 'messages[2]', 'systemPrompt', 'stopSequences', 'tools[0]'],
      },
    ])
    expect(JSON.stringify(params)).toContain('abcdefghijklmnop')
  })

  it('is unchanged without matches', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.json(), (text, json) => {
        const params: CreateMessageParams = {
          ...paramsOf(text),
          tools: [{ name: 't', inputSchema: { type: 'object', 'x-any': JSON.parse(json) } }],
        }
        fc.pre(!/sk-|eyJ|bearer|BEGIN|npm_|hf_|AIza/i.test(JSON.stringify(params)))
        const { params: sent, redactions } = createSamplingRedactor().redact(params)
        expect(sent).toEqual(params)
        expect(redactions).toEqual([])
      }),
    )
  })
})

describe('configured patterns', () => {
  it.each(['(a)\\1', '(?<=a)b', '(', 'a{1,5000}'])('%s is rejected', (pattern) => {
    expect(patternProblem(pattern)).toBeTypeOf('string')
    expect(() => hostOf({ sampling: { redact: [{ name: 'x', pattern }] } })).toThrow(McpError)
  })

  it.each(['', 'a*', '\\b'])('%j, which also matches the empty text, terminates', (pattern) => {
    expect(blanked('baab', [{ name: 'x', pattern }])).toBe(pattern === 'a*' ? 'b[redacted: x]b' : 'baab')
  })

  it('that would search too long prevent the request', () => {
    expect(() => blanked('a'.repeat(40_000), [{ name: 'x', pattern: 'a|a.*z' }])).toThrow('too long')
  })
})
