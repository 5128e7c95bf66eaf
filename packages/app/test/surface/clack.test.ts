import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { cancelled, type Prompter } from '../../src/forms/prompter.ts'
import { clackPrompter } from '../../src/surface/clack.ts'

/** A terminal whose keys are pressed once the question is displayed. */
function terminal(signal?: AbortSignal): {
  prompter: Prompter
  press(...keys: string[]): void
  seen(): string
  interrupts(): number
} {
  const input = new PassThrough()
  const output = new PassThrough()
  let seen = ''
  let interrupts = 0
  output.on('data', (chunk) => {
    seen += chunk
  })
  return {
    prompter: clackPrompter({
      input,
      output,
      ...(signal !== undefined && { signal }),
      onInterrupt: () => {
        interrupts += 1
      },
    }),
    press(...keys) {
      setTimeout(() => {
        for (const key of keys) input.write(key)
      }, 20)
    },
    seen: () => seen,
    interrupts: () => interrupts,
  }
}

const down = '\u001b[B'
const enter = '\r'
const interrupt = '\u0003'
const esc = '\u001b'
const options = [
  { value: 'deny', label: 'Deny' },
  { value: 'allow', label: 'Allow' },
]

describe('a question on a terminal', () => {
  test('is a choice among labels', async () => {
    const { prompter, press, seen } = terminal()
    press(down, enter)
    expect(await prompter.select({ message: 'Allow it?', options })).toBe('allow')
    expect(seen()).toContain('Allow it?')
  })

  test('is answered at once only with the key of a choice', async () => {
    const { prompter, press, seen } = terminal()
    press('x', 'L', '[', 'l')
    const keyed = [...options, { value: 'later', label: 'Later', key: 'l' }]
    expect(await prompter.select({ message: '?', options: keyed })).toBe('later')
    expect(stripVTControlCharacters(seen())).toMatch(/● Deny\n[\s\S]*○ Later \[l\]\n/)
  })

  test('is not answered by letters of pasted text', async () => {
    const { prompter, press } = terminal()
    press('later, please', esc)
    const keyed = [...options, { value: 'later', label: 'Later', key: 'l' }]
    expect(await prompter.select({ message: '?', options: keyed })).toBe(cancelled)
  })

  test('starts at the given choice', async () => {
    const { prompter, press } = terminal()
    press(enter)
    expect(await prompter.select({ message: '?', options, initial: 'allow' })).toBe('allow')
  })

  test('has no answer after Ctrl+C, whatever was highlighted', async () => {
    const { prompter, press } = terminal()
    press(down, interrupt)
    expect(await prompter.select({ message: '?', options })).toBe(cancelled)
  })

  test.each([
    [esc, 0],
    [interrupt, 1],
  ])('reports Ctrl+C but not Esc, for each kind of question', async (key, times) => {
    const { prompter, press, interrupts } = terminal()
    press(key)
    expect(await prompter.select({ message: '?', options })).toBe(cancelled)
    expect(interrupts()).toBe(times)
    press('x', key)
    expect(await prompter.text({ message: '?', validate: () => undefined })).toBe(cancelled)
    expect(interrupts()).toBe(2 * times)
    press(' ', key)
    expect(await prompter.multiselect({ message: '?', options, initial: [], required: false })).toBe(
      cancelled,
    )
    expect(interrupts()).toBe(3 * times)
  })

  test("can copy a text to the terminal's clipboard, and nothing else", () => {
    const { prompter, seen } = terminal()
    prompter.copy('https://a.example/\u0007\u001b]0;x')
    const [before, after] = ['\u001b]52;c;', '\u0007']
    expect(seen().startsWith(before) && seen().endsWith(after)).toBe(true)
    const encoded = seen().slice(before.length, -after.length)
    expect(encoded).toMatch(/^[A-Za-z0-9+/=]+$/)
    expect(Buffer.from(encoded, 'base64').toString()).toBe('https://a.example/\u0007\u001b]0;x')
  })

  test('accepts text once it is valid', async () => {
    const { prompter, press, seen } = terminal()
    press('x', enter, 'y', enter)
    const typed = await prompter.text({
      message: 'Two',
      validate: (text) => (text.length < 2 ? 'Too short.' : undefined),
    })
    expect(typed).toBe('xy')
    expect(seen()).toContain('Too short.')
  })

  test('accepts several choices, or none', async () => {
    const { prompter, press } = terminal()
    press(down, ' ', enter)
    expect(await prompter.multiselect({ message: '?', options, initial: [], required: false })).toEqual([
      'allow',
    ])
    press(enter)
    expect(await prompter.multiselect({ message: '?', options, initial: [], required: false })).toEqual([])
  })

  test('does not change the terminal when it is settled after its answer', async () => {
    const settled = new AbortController()
    const { prompter, press, seen } = terminal(settled.signal)
    press(enter)
    await prompter.select({ message: '?', options })
    const before = seen()
    settled.abort()
    expect(seen()).toBe(before)
  })

  test('closes without an answer when it is withdrawn', async () => {
    const stop = new AbortController()
    const { prompter } = terminal(stop.signal)
    setTimeout(() => stop.abort(), 20)
    expect(await prompter.select({ message: '?', options })).toBe(cancelled)
  })
})
