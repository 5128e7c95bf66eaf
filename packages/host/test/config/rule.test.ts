// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.

import { homedir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/reader.ts'

const read = (rule: unknown) =>
  parseConfig(JSON.stringify({ mcpServers: {}, jackfield: { rules: [rule] } }), {
    file: '/work/mcp.json',
    env: { NAME: 'files' },
  }).rules[0]

describe('a rule of a configuration', () => {
  it('is parsed with every field, and its position', () => {
    const rule = {
      id: 'mine',
      verdict: 'ask',
      server: '${NAME}',
      tool: 'read_*',
      hint: 'openWorld',
      caller: ['chat', 'code'],
      arguments: [
        { at: '/path', inside: ['data', '~/notes', '/srv'] },
        { at: '/n', min: 1, max: 9 },
        { at: '', glob: '*', equals: null },
      ],
      label: 'private',
      gate: 'call',
      scope: 'workspace',
    }
    expect(read(rule)).toEqual({
      ...rule,
      server: 'files',
      arguments: [
        { at: '/path', inside: ['/work/data', `${homedir()}/notes`, '/srv'] },
        ...rule.arguments.slice(1),
      ],
      author: '/work/mcp.json, jackfield.rules[0]',
    })
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown caller', { caller: ['chat', 'robot'] }, 'rules[0].caller[1]'],
    ['callers that are no list', { caller: 'chat' }, 'rules[0].caller must be a list'],
    ['a hint there is none of', { hint: 'safe' }, 'rules[0].hint'],
    ['a gate there is none of', { gate: 'door' }, 'rules[0].gate'],
    ['a test without a place', { arguments: [{ glob: '*' }] }, 'rules[0].arguments[0].at'],
    ['a place that is no pointer', { arguments: [{ at: 'path' }] }, 'JSON Pointer'],
    ['a pointer with a stray ~', { arguments: [{ at: '/a~b' }] }, 'JSON Pointer'],
    ['a misspelt condition', { arguments: [{ at: '/a', insid: ['/x'] }] }, 'arguments[0].insid is unknown'],
    ['a bound that is text', { arguments: [{ at: '/a', min: '5' }] }, 'arguments[0].min must be a number'],
    ['folders that are no list', { arguments: [{ at: '/a', inside: '/x' }] }, 'arguments[0].inside'],
    ['an author', { author: 'me' }, 'rules[0].author is unknown'],
    ['a scope where nothing is remembered', { gate: 'result', scope: 'always', verdict: 'ask' }, 'no effect'],
  ])('fails the configuration with %s', (_name, more, words) => {
    const reading = () => read({ verdict: 'deny', ...more })
    expect(reading).toThrow(ConfigError)
    expect(reading).toThrow(words)
  })
})
