import { statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { canonical, type JsonRecord } from '../../shared/json.ts'
import type { ArgumentTest, Question } from '../../types/index.ts'
import { testsHold } from './argument-tests.ts'

type Likeness = Question<'approval'>['likeness'][number]

const maxExact = 16_384
const maxNamed = 8

/** Which calls like this one an answer can be remembered for, the narrowest first. Each covers the call itself. */
export function likenessOf(args: JsonRecord, base: string | undefined): Likeness[] {
  const exact = canonical(args).length <= maxExact
  const found: Likeness[] = [
    ...(exact && Object.keys(args).length > 0
      ? [{ label: 'exactly these arguments', arguments: [{ at: '', equals: args }] }]
      : []),
    ...alike(args, 'paths inside', folderTest),
    ...alike(args, 'addresses at', hostTest),
  ].filter((likeness) => testsHold(likeness.arguments, args, 'every', base))
  return [...found, { label: 'any arguments' }]
}

/** One likeness that tests every argument `test` knows something about; the others may be anything. */
function alike(
  args: JsonRecord,
  words: string,
  test: (value: string) => { test: Omit<ArgumentTest, 'at'>; name: string } | undefined,
): (Likeness & { arguments: readonly ArgumentTest[] })[] {
  const known = Object.entries(args).flatMap(([name, value]) => {
    const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? value : []
    const tests = texts.map((text) => (typeof text === 'string' ? test(text) : undefined))
    const [first] = tests
    if (first === undefined || tests.some((other) => canonical(other) !== canonical(first))) return []
    const at = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return [{ at: Array.isArray(value) ? `${at}/*` : at, ...first }]
  })
  if (known.length === 0 || known.length > maxNamed) return []
  const names = [...new Set(known.map(({ name }) => name))].join(', ')
  return [{ label: `${words} ${names}`, arguments: known.map(({ at, test: made }) => ({ at, ...made })) }]
}

function folderTest(text: string): { test: Omit<ArgumentTest, 'at'>; name: string } | undefined {
  const path = pathOf(text)
  if (path === undefined) return undefined
  const folder = isFolder(path) ? path : dirname(path)
  return folder === dirname(folder) ? undefined : { test: { inside: [folder] }, name: folder }
}

function pathOf(text: string): string | undefined {
  try {
    const path = /^file:/i.test(text) ? fileURLToPath(text) : text
    return isAbsolute(path) && !/[\0\n\r]/.test(path) ? resolve(path) : undefined
  } catch {
    return undefined
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function hostTest(text: string): { test: Omit<ArgumentTest, 'at'>; name: string } | undefined {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null || url.username !== '' || url.password !== '' || /[*?]/.test(url.host)) return undefined
  return { test: { glob: `${url.origin}/*` }, name: url.origin }
}
