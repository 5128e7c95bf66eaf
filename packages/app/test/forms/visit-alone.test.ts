import { createServer } from 'node:http'
import { connect } from 'node:net'
import picocolors from 'picocolors'
import { describe, expect, onTestFinished, test } from 'vitest'
import { askVisit } from '../../src/forms/ask-visit.ts'
import { cancelled } from '../../src/forms/prompter.ts'
import { type Scripted, scripted } from './prompter.ts'

const palette = picocolors.createColors(false)

/** A site that counts every connection to it. */
async function site(): Promise<{ port: number; visits: () => number }> {
  let visits = 0
  const server = createServer((_request, response) => response.end('hello'))
  server.on('connection', () => {
    visits++
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0, visits: () => visits }
}

describe('a visit', () => {
  const answers: [string, Scripted, string][] = [
    ['agreeing', 'accept', 'accept'],
    ['declining', 'decline', 'decline'],
    ['leaving', cancelled, 'cancel'],
  ]
  test.each(answers)('is left to the person: %s fetches and opens nothing', async (_, answer, action) => {
    const { port, visits } = await site()
    const url = `http://127.0.0.1:${port}/sign-in?state=1#top`
    const person = scripted(answer)
    expect(await askVisit({ mode: 'url', message: 'Sign in', url }, 'shop', person, palette)).toEqual({
      action,
    })
    expect(person.said[0]).toBe('shop asks you to visit a page:')
    expect(person.said).toContain(url)
    expect(visits()).toBe(0)
    await new Promise<void>((resolve) => connect(port, '127.0.0.1', resolve).unref())
    expect(visits()).toBe(1)
  })

  test('that imitates another site is shown by its real name, set off, with a warning', async () => {
    const marked = { ...palette, bold: (text: string | number | null | undefined) => `[${String(text)}]` }
    const person = scripted('decline')
    await askVisit({ mode: 'url', message: 'Pay', url: 'https://pаypal.com/login' }, 'shop', person, marked)
    expect(person.said).toContain('https://[xn--pypal-4ve.com]/login')
    expect(person.said.join('\n')).toContain('mixes alphabets')
  })

  test('is not made by a URL in a message, which stays text', async () => {
    const person = scripted('decline')
    await askVisit(
      {
        mode: 'url',
        message: '\u001b]8;;https://evil.example\u0007Sign in\u001b]8;;\u0007',
        url: 'https://a.example/',
      },
      'shop',
      person,
      palette,
    )
    expect(person.said.join('\n')).not.toContain('\u001b')
  })
})
