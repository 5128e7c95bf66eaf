import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { site } from '../../../../test/setup/site.ts'
import { askUrl } from '../../src/forms/ask-url.ts'
import type { ElicitationQuestion } from '../../src/forms/heading.ts'
import { esc, type Scripted, scripted } from './prompter.ts'
import { questionOf } from './question.ts'

const palette = picocolors.createColors(false)
const urlQuestion = (url: string, more: Partial<ElicitationQuestion> = {}) =>
  questionOf({ mode: 'url' as const, message: 'Sign in', url }, more)

describe('consent to a URL elicitation', () => {
  const answers: [string, Scripted, object | undefined][] = [
    ['agreeing', 'open', { action: 'accept', visit: 'open' }],
    ['agreeing, to open it oneself,', 'self', { action: 'accept', visit: 'self' }],
    ['declining', 'decline', { action: 'decline' }],
    ['leaving', esc, undefined],
  ]
  test.each(answers)(
    'is given by the user: %s fetches and opens nothing here',
    async (_, answer, expected) => {
      const { url, visits, touch } = await site()
      const person = scripted(answer)
      expect(await askUrl(urlQuestion(url), person, palette)).toEqual(expected)
      expect(person.printed[0]).toBe('travel asks you to visit a page')
      expect(person.printed).toContain(url)
      expect(person.initials).toEqual(['decline'])
      expect(visits()).toBe(0)
      await touch()
      expect(visits()).toBe(1)
    },
  )

  test('shows the whole of a URL of more than 4,096 characters', async () => {
    const url = `https://pay.example/${'x'.repeat(6_000)}?a=1`
    const person = scripted('decline')
    await askUrl(urlQuestion(url), person, palette)
    expect(person.printed).toContain(url)
  })

  test('can be postponed with the URL in the clipboard', async () => {
    const person = scripted('copy', 'self')
    expect(await askUrl(urlQuestion('https://a.example/x'), person, palette)).toMatchObject({ visit: 'self' })
    expect(person.copied).toEqual(['https://a.example/x'])
  })

  test('is impossible for anything but a web page', async () => {
    const person = scripted('decline')
    await askUrl(urlQuestion('javascript:alert(1)'), person, palette)
    expect(person.offered).toEqual([['decline', 'decline-why', 'cancel', 'later']])
    expect(person.printed.join('\n')).toContain('It is not a web page')
  })

  test('for an unencrypted page elsewhere leaves the opening to the user', async () => {
    const person = scripted('self')
    await askUrl(urlQuestion('http://a.example/'), person, palette)
    expect(person.offered[0]).not.toContain('open')
    expect(person.printed.join('\n')).toContain('not encrypted')
  })

  test('for an imitated site shows its real name, highlighted, and its Unicode form', async () => {
    const marked = { ...palette, bold: (text: string | number | null | undefined) => `[${String(text)}]` }
    const person = scripted('decline')
    await askUrl(urlQuestion('https://pаypal.com/login'), person, marked)
    expect(person.printed).toContain('https://[xn--pypal-4ve.com]/login')
    expect(person.printed.join('\n')).toContain('mixes letters of different alphabets')
  })

  test('is not created by a URL in a message, which stays text', async () => {
    const person = scripted('decline')
    const message = '\u001b]8;;https://evil.example\u0007Sign in\u001b]8;;\u0007'
    const url = 'https://a.example/\u001b]0;x\u0007'
    await askUrl(questionOf({ mode: 'url', message, url }), person, palette)
    expect(person.printed.join('\n')).not.toContain('\u001b')
  })
})

describe('an open URL elicitation', () => {
  const underWay = (opened: boolean, problem?: string): NonNullable<ElicitationQuestion['visit']> => ({
    opened,
    ...(problem !== undefined && { problem }),
  })
  test.each<[Scripted, object | undefined]>([
    ['finished', { action: 'accept' }],
    ['open', { action: 'accept', visit: 'open' }],
    ['later', undefined],
    ['abandon', { action: 'cancel' }],
    [esc, undefined],
  ])('is answered with %s', async (answer, expected) => {
    const person = scripted(answer)
    const question = urlQuestion('https://a.example/x', { visit: underWay(true) })
    expect(await askUrl(question, person, palette)).toEqual(expected)
    expect(person.printed).toEqual(['travel waits until you finished at a.example.'])
    expect(person.initials).toEqual(['finished'])
  })

  test('that could not be opened shows the reason, and the URL again', async () => {
    const person = scripted('finished')
    const question = urlQuestion('https://a.example/x', { visit: underWay(false, 'xdg-open failed') })
    await askUrl(question, person, palette)
    expect(person.printed).toContain('! It could not be opened: xdg-open failed')
    expect(person.printed).toContain('https://a.example/x')
  })
})
