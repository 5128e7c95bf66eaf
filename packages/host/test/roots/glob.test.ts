import { expect, it } from 'vitest'
import { matchesPattern } from '../../src/servers/roots/folders.ts'

it.each([
  ['/home/me/secret', 'secret', true],
  ['/home/me/secret/deep', 'secret', true],
  ['/home/me/secrets', 'secret', false],
  ['/home/me/secrets', 'secret*', true],
  ['/home/me/a.b', 'a?b', true],
  ['/home/me/axb', 'a.b', false],
  ['/home/me', '/home/me', true],
  ['/home/me', '/home/me/', true],
  ['/home/me/x', '/home/me', true],
  ['/home/men', '/home/me', false],
  ['/home/me/x', '/home/*/x', true],
  ['/home/me/deep/x', '/home/*/x', false],
  ['/home/me/deep/x', '/home/**/x', true],
  ['/srv/deep/private/x', '**/private', true],
  ['/', '/', true],
  ['/srv', '/', true],
])('%s is matched by %s: %s', (path, pattern, answer) => {
  expect(matchesPattern(path, pattern)).toBe(answer)
})
