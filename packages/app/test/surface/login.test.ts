import type { HostQuestion } from '@jackfield/host'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { cancelled } from '../../src/forms/prompter.ts'
import { askLogin } from '../../src/surface/login.ts'
import { scripted } from '../forms/prompter.ts'

const palette = picocolors.createColors(false)

const question = (url: string, scopes: string[] = []): Extract<HostQuestion, { kind: 'login' }> => ({
  kind: 'login',
  id: '0123456789abcdef',
  cause: { server: 'shop\u200b' },
  url,
  issuer: new URL(url).origin,
  scopes,
})

test('a login shows the full URL, its site and the requested scopes before the page opens', async () => {
  const person = scripted('allow')
  const url = 'https://login.example.org/authorize?client_id=1&scope=read+write'
  expect(await askLogin(question(url, ['read', 'write\u202e']), person, palette)).toEqual({
    verdict: 'allow',
  })
  expect(person.printed).toEqual([
    'shop⟦U+200B⟧ requires you to sign in. Your browser would open:',
    url,
    'for read, write⟦U+202E⟧',
  ])
  expect(person.initials).toEqual(['later'])
})

test('a site that imitates another is reported, and one that cannot be opened is not offered', async () => {
  const likeness = scripted('deny')
  expect(await askLogin(question('https://xn--pypal-4ve.com/login'), likeness, palette)).toEqual({
    verdict: 'deny',
  })
  expect(likeness.printed.join('\n')).toContain('mixes letters of different alphabets')
  const file = scripted('later')
  expect(await askLogin(question('file:///etc/passwd'), file, palette)).toBeUndefined()
  expect(file.offered).toEqual([['later', 'deny']])
})

test('Esc leaves the question in the inbox', async () => {
  expect(await askLogin(question('https://example.org/'), scripted(cancelled), palette)).toBeUndefined()
})
