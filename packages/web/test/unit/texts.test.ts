import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { QuestionKind } from '@jackfield/host'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { describe, expect, test } from 'vitest'
import { segmentsOf } from '../../../host/src/resources/library.ts'
import { everyFix } from '../../../host/test/fixtures/fixes.ts'
import { readCatalog } from '../../locales/catalog.ts'
import { translator } from '../../src/app/i18n/host-sentences.ts'
import { issuesOf, type Schema } from '../../src/app/inspect/schema.ts'
import { foldersOf } from '../../src/app/library/tree.ts'
import { lineDiff } from '../../src/app/text/line-diff.ts'
import { briefly, changedValues, folderOf, headOf, leavesOf, piecesOf } from '../../src/app/text/pieces.ts'

const at = (path: string): URL => new URL(path, import.meta.url)
const read = (language: string): Record<string, string> =>
  readCatalog(readFileSync(at(`../../locales/${language}.po`), 'utf8'))
const english = read('en')
const chinese = read('zh-CN')

const source = readdirSync(at('../../src/app'), { recursive: true })
  .map(String)
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => readFileSync(at(`../../src/app/${name}`), 'utf8'))
  .join('\n')

/** The placeholders of a message. */
function placeholders(message: string): string[] {
  const found = new Set<string>()
  const visit = (part: unknown): void => {
    if (!Array.isArray(part)) return
    if (typeof part[0] === 'string' && part.length <= 3 && /^\w+$/.test(part[0])) found.add(part[0])
    for (const inner of part) {
      if (Array.isArray(inner)) visit(inner)
      else if (typeof inner === 'object' && inner !== null) Object.values(inner).forEach(visit)
    }
  }
  const compiled: unknown = compileMessage(message)
  if (Array.isArray(compiled)) compiled.forEach(visit)
  return [...found].filter((name) => name !== 'plural').sort()
}

describe('the texts of the page', () => {
  test('exist in both languages with the same placeholders', () => {
    expect(Object.keys(chinese).sort()).toEqual(Object.keys(english).sort())
    for (const [id, message] of Object.entries(english))
      expect([id, placeholders(chinese[id] ?? '')]).toEqual([id, placeholders(message)])
  })

  test('are each used, and none that is used is missing', () => {
    const quoted = new Set(
      [...source.matchAll(/['"`]([a-z][A-Za-z]*(?:\.[A-Za-z-]+)+)['"`]/g)].map(([, id = '']) => id),
    )
    const prefixes = [...source.matchAll(/`([a-z][A-Za-z.]*\.)\$\{/g)].map(([, prefix = '']) => prefix)
    const unused = Object.keys(english).filter(
      (id) => !quoted.has(id) && !prefixes.some((prefix) => id.startsWith(prefix)),
    )
    expect(unused).toEqual([])
    const groups = new Set(Object.keys(english).map((id) => id.split('.')[0]))
    const calls = [
      ...source.matchAll(
        /\bt\(\s*'([\w.-]+)'|rich\(t, '([\w.-]+)'|title="([a-z]+\.\w+)"|name: '([a-z]+\.\w+)'/g,
      ),
    ].map((match) => match.slice(1).find((id) => id !== undefined) ?? '')
    expect(calls.filter((id) => groups.has(id.split('.')[0]) && !Object.hasOwn(english, id))).toEqual([])
    expect(calls.filter((id) => !groups.has(id.split('.')[0]))).toEqual([])
  })
})

describe('an outcome of an activity', () => {
  test('has a text in both languages', () => {
    const host = at('../../../host/src/')
    const texts = readdirSync(host, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(new URL(name, host), 'utf8'))
    const outcomes = new Set(
      texts.flatMap((text) => [...text.matchAll(/\.close\('([a-z-]+)'/g)].map(([, outcome = '']) => outcome)),
    )
    const [, states = ''] =
      /const phrases[^{]*\{([^}]*)\}/.exec(
        readFileSync(new URL('host/connection-factory.ts', host), 'utf8'),
      ) ?? []
    for (const [, state = ''] of states.matchAll(/^ *'?([a-z-]+)'?:/gm)) outcomes.add(state)
    outcomes.delete('connecting')
    expect(outcomes.size).toBeGreaterThan(15)
    expect([...outcomes].filter((outcome) => !Object.hasOwn(english, `outcome.${outcome}`))).toEqual([])
  })
})

describe('a question', () => {
  test('of each kind has its texts in lists, notifications and filters', () => {
    const kinds: Record<QuestionKind, true> = {
      app: true,
      approval: true,
      drift: true,
      elicitation: true,
      input: true,
      installation: true,
      login: true,
      result: true,
      roots: true,
      'sampling-request': true,
      'sampling-result': true,
      start: true,
    }
    for (const group of ['row', 'announce', 'kind'])
      expect([
        group,
        Object.keys(kinds).filter((kind) => !Object.hasOwn(english, `${group}.${kind}`)),
      ]).toEqual([group, []])
  })
})

describe('a folder', () => {
  test('is shown as a path, any other place as its URI', () => {
    expect(
      ['file:///home/ada/a%20b', 'file:///C:/data', 'https://x.example/a', 'file:///%E0%A4%A'].map(folderOf),
    ).toEqual(['/home/ada/a b', 'C:/data', 'https://x.example/a', 'file:///%E0%A4%A'])
  })

  test('of the library leads to its resources as the host groups them', () => {
    for (const uri of ['docs://guide/a.md', 'file:///home/ada/b', 'urn:isbn:1', 'plain/path', 'a://x//y']) {
      const segments = segmentsOf(uri)
      const folders = [[], ...segments.slice(0, -1).map((_, n) => segments.slice(0, n + 1))]
      expect([uri, foldersOf({ server: 's', uri })]).toEqual([uri, folders.map((one) => ['s', ...one])])
    }
  })
})

describe('a fix', () => {
  test('has a text in both languages that shows all its parameters', () => {
    for (const { action, ...values } of everyFix) {
      const { setting, ...shown } = { setting: undefined, ...values }
      const id = setting === undefined ? `fix.${action}` : `fix.configure.${setting}`
      for (const texts of [english, chinese])
        expect([id, placeholders(texts[id] ?? '')]).toEqual([id, Object.keys(shown).sort()])
    }
  })
})

describe('a sentence of the host', () => {
  const sentences = readCatalog(readFileSync(at('../../locales/host.zh-CN.po'), 'utf8'))
  const translate = translator(sentences)
  const host = at('../../../host/src/')

  test('is translated with its values, which are its own', () => {
    expect(translate('It names {0}.')).toBe('它提到 {0}。')
    expect(translate('It runs in /a. And in /b.')).toBe('它在 /a. And in /b 中运行。')
    expect(translate('The change cannot be made: This host has no configuration files.')).toBe(
      '无法进行此更改：此主机没有配置文件。',
    )
    expect(translate('1 tool, 2 prompts, 0 resources, 1 template')).toBe(
      '1 个工具、2 个提示词、0 个资源、1 个模板',
    )
    expect(
      translate('tool buy, prompt choose of shop are new or suspicious, and disabled until accepted'),
    ).toBe('shop 的 工具 buy、提示词 choose 是新的或可疑的，接受之前停用')
    expect(translate('web · Firefox on lapis')).toBe('网页 · lapis 上的 Firefox')
    expect(translate('It names .')).toBeUndefined()
    expect(translate('Something else')).toBeUndefined()
  })

  test('has all its placeholders in the translation, and no other', () => {
    const names = (text: string): string[] =>
      [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).sort()
    for (const [sentence, translation] of Object.entries(sentences))
      expect([sentence, names(translation)]).toEqual([sentence, names(sentence)])
  })

  test('is translated if it is a finding about a server, a command, an address or a folder', () => {
    const files = [
      'core/trust/scan.ts',
      'core/forms/inspect-url.ts',
      'servers/launch/command-scan.ts',
      'servers/launch/resolve-command.ts',
      'servers/launch/consents.ts',
      'servers/roots/folders.ts',
    ]
    const literal = /(?<=message[:=]\s*|message = |message: |,\s*|\? |: )(['`])((?:(?!\1)[^\\\n]|\\.)*)\1/g
    const found = files.flatMap((file) =>
      [...readFileSync(new URL(file, host), 'utf8').matchAll(literal)]
        .map(([, , text = '']) => text.replaceAll("\\'", "'"))
        .filter((text) => /^(?:[A-Z"]|\$\{|it |your |you )/.test(text) && /(?:\w+ ){3}\w/.test(text))
        // The summary of an activity.
        .filter((text) => !text.startsWith('May '))
        // A sentence whose form depends on its values is below.
        .filter((text) => !/\$\{[^}]*(?:\?|\()/.test(text) && !/\$\{(?:more|says|how)\}/.test(text)),
    )
    expect(found.length).toBeGreaterThan(50)
    const messages = [
      ...readFileSync(new URL('core/trust/phrases.ts', host), 'utf8').matchAll(/says: '(.*)'/g),
    ]
    const depending = [
      ...messages.map(([, words = '']) => `It ${words}: "x"`),
      'It contains 1 invisible character: U+200B. A model reads what you do not see.',
      'It contains 3 invisible characters: U+200B. A model reads what you do not see.',
      '"Password" seems to ask for a password. Servers must not ask for secrets in a form: what is typed reaches the server as plain text. It can send you to a page of its own instead.',
      'It gives instructions about x, a tool of y.',
      'It mentions x, a tool of y.',
      'It looks like x of y, but is spelled differently.',
      'It looks like x of y, but is written differently.',
      'The program gets X, which looks like a secret.',
      'The program gets X, which looks like a secret, and is not one of the usual launchers.',
      'The connection is not encrypted; others on the network can read and change it. Use https.',
      'The container gets access to ~/.ssh.',
      'It is 20,000 characters long; check its beginning and its site.',
      'There is no program "x" to run now.',
    ]
    const missing = [...found.map((text) => text.replace(/\$\{[^}]*\}/g, 'x')), ...depending].filter(
      (text) => translate(text) === undefined,
    )
    expect(missing).toEqual([])
  })

  test('is translated if it says what a schema finds wrong', () => {
    const wrong: readonly (readonly [schema: Schema, value: unknown])[] = [
      [{ type: 'string' }, 1],
      [{ type: ['integer', 'null'] }, ''],
      [{ const: 1 }, 2],
      [{ enum: [1, 2] }, 3],
      [{ minimum: 2 }, 1],
      [{ maximum: 2 }, 3],
      [{ exclusiveMinimum: 2 }, 2],
      [{ exclusiveMaximum: 2 }, 2],
      [{ multipleOf: 2 }, 3],
      [{ minLength: 1 }, ''],
      [{ minLength: 3 }, ''],
      [{ maxLength: 1 }, 'abc'],
      [{ pattern: '^a' }, 'b'],
      [{ minItems: 1 }, []],
      [{ maxItems: 2 }, [1, 2, 3]],
      [{ uniqueItems: true }, [1, 1]],
      [{ minProperties: 1 }, {}],
      [{ minProperties: 2 }, {}],
      [{ maxProperties: 1 }, { a: 1, b: 1 }],
      [{ required: ['a'] }, {}],
      [{ dependentRequired: { a: ['b'] } }, { a: 1 }],
      [{ additionalProperties: false }, { a: 1 }],
      [{ propertyNames: { maxLength: 1 } }, { abc: 1 }],
      [{ contains: { const: 1 } }, []],
      [{ contains: { const: 1 }, minContains: 2 }, [1]],
      [{ contains: { const: 1 }, maxContains: 1 }, [1, 1]],
      [{ anyOf: [{ type: 'string' }] }, 1],
      [{ oneOf: [{ type: 'number' }, { const: 1 }] }, 1],
      [{ not: {} }, 1],
      [{ properties: { a: false } }, { a: 1 }],
    ]
    for (const [schema, value] of wrong) {
      const messages = issuesOf(schema, value).map(({ message }) => message)
      expect(messages).not.toEqual([])
      expect(messages.filter((message) => translate(message) === undefined)).toEqual([])
    }
  })

  test('is translated if it is the summary of an activity of a model', () => {
    const summaries = [
      'a/b answered',
      'a/b answered, wants c__d, c__e',
      'a/b was interrupted',
      'a/b gave no answer',
      'a/b answers c',
      'c asks a model for a message',
    ]
    expect(summaries.filter((summary) => translate(summary) === undefined)).toEqual([])
  })

  test('is translated if it says why a server is in its state', () => {
    const source = readFileSync(new URL('servers/connections/connection.ts', host), 'utf8')
    const reasons = [...source.matchAll(/reason: '([^']+)'/g)].map(([, reason = '']) => reason)
    expect(reasons.length).toBeGreaterThan(8)
    expect(reasons.filter((reason) => translate(reason) === undefined)).toEqual([])
  })

  test('is translated if it says why a resource is attached or left out', () => {
    const reasons = [
      'its server marks it for a model',
      'its server marks it for a model, priority 1',
      'its server marks it for a model, changed 2026-01-01',
      'its server marks it for a model, priority 1, changed 2026-01-01',
      'it needs about 120 tokens, and 8 of 8000 are left',
      '64 others were read already',
      'it could not be read',
      'the conversation has too many attachments',
      'its server does not mark it for a model',
      'its priority is below 0.5',
      'its server marks it for the user only',
      'its server has the label private; /attach includes it',
      'automatic attachments are off in this conversation',
      'you removed it',
    ]
    expect(reasons.filter((reason) => translate(reason) === undefined)).toEqual([])
  })
})

describe('an untrusted text', () => {
  test('is escaped where a character would be invisible', () => {
    expect(piecesOf('a\u200bb\u202e')).toEqual([
      { text: 'a' },
      { code: 'U+200B' },
      { text: 'b' },
      { code: 'U+202E' },
    ])
    expect(piecesOf('\u{e0041}x')).toEqual([{ code: 'U+E0041' }, { text: 'x' }])
  })

  test('is never cut within a character', () => {
    expect(headOf('ab😀', 3)).toEqual({ head: 'ab', rest: 2 })
    expect(headOf('ab', 3)).toEqual({ head: 'ab', rest: 0 })
  })
})

describe('arguments', () => {
  test('are shown by position, those with effects outside first', () => {
    const { leaves } = leavesOf({ note: 'x', 'a/b': 1, path: '/etc/passwd', deep: { command: 'rm' } })
    expect(leaves.map(({ pointer }) => pointer)).toEqual(['/path', '/deep/command', '/note', '/a~1b'])
  })

  test('are compared by position', () => {
    expect(changedValues({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3], c: 'x' })).toEqual([
      { pointer: '/c', after: 'x' },
      { pointer: '/b/1', before: 2, after: 3 },
    ])
  })
})

describe('the built page', () => {
  test('does not exceed its size budget', ({ skip }) => {
    const folder = at('../../dist/app/')
    let html: string
    try {
      html = readFileSync(new URL('index.html', folder), 'utf8')
    } catch {
      return skip('the page is not built (npm run build)')
    }
    const size = (name: string): number => gzipSync(readFileSync(new URL(name, folder))).length
    const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)].map(
      ([, name = '']) => name,
    )
    const all = readdirSync(new URL('assets/', folder)).map((name) => `assets/${name}`)
    const sum = (names: readonly string[]): number => names.reduce((bytes, name) => bytes + size(name), 0)
    const isScript = (name: string): boolean => name.endsWith('.js')
    expect(sum(first.filter(isScript))).toBeLessThanOrEqual(150_000)
    expect(sum(first.filter((name) => !isScript(name)))).toBeLessThanOrEqual(25_000)
    for (const name of all.filter((one) => isScript(one) && !first.includes(one)))
      expect([name, size(name)]).toEqual([name, expect.toSatisfy((bytes: number) => bytes <= 120_000)])
    expect(sum(all.filter(isScript))).toBeLessThanOrEqual(700_000)
  })
})

describe('a comparison of lines', () => {
  test('has line numbers of both sides, and counts equal lines away from a change', () => {
    const before = ['{', '  "a": 1,', '  "b": 2,', '  "b": 2,', '  "c": 3', '}', ''].join('\n')
    const after = before.replace('"c": 3', '"c": 4').replace('"a": 1,', '"a": 1, 😀')
    expect(lineDiff(before, after, 1)).toEqual([
      { kind: 'same', before: 1, after: 1, text: '{' },
      { kind: 'removed', before: 2, text: '  "a": 1,' },
      { kind: 'added', after: 2, text: '  "a": 1, 😀' },
      { kind: 'same', before: 3, after: 3, text: '  "b": 2,' },
      { kind: 'same', before: 4, after: 4, text: '  "b": 2,' },
      { kind: 'removed', before: 5, text: '  "c": 3' },
      { kind: 'added', after: 5, text: '  "c": 4' },
      { kind: 'same', before: 6, after: 6, text: '}' },
    ])
    expect(lineDiff('a\nb\nc\nd', 'a\nb\nc\nd\ne', 1)[0]).toEqual({ kind: 'skipped', count: 3 })
    expect(lineDiff('', 'a')).toEqual([{ kind: 'added', after: 1, text: 'a' }])
  })
})

test('arguments in one line are separated, without the quotes of JSON', () => {
  expect(briefly({ origin: 'Oslo', date: '2027-01-10', bags: [1, 2] })).toBe(
    'origin: Oslo, date: 2027-01-10, bags: [1,2]',
  )
})
