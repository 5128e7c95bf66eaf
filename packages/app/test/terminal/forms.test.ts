import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  openTerminal,
  type Terminal,
  type TerminalOptions,
  terminalMissing,
} from '../../../../scripts/terminal/terminal.ts'

const bin = fileURLToPath(new URL('../../bin/jackfield.js', import.meta.url))
const server = fileURLToPath(new URL('prying-server.ts', import.meta.url))
const missing = terminalMissing()
if (missing !== undefined) process.stderr.write(`Forms are not tested in a terminal: ${missing}\n`)

/** A call of a server that asks this, in a terminal. */
function asked(params: object, options: TerminalOptions = {}): Terminal & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-forms-'))
  const command = ['call', 'ask', '--', process.execPath, server, JSON.stringify(params)]
  const terminal = openTerminal([process.execPath, bin, ...command], {
    cwd: folder,
    ...options,
    env: { HOME: folder, XDG_DATA_HOME: folder, NO_COLOR: '1', ...options.env },
  })
  onTestFinished(() => terminal.close())
  return Object.assign(terminal, { folder })
}

const form = (properties: object, required: string[] = []) => ({
  mode: 'form',
  message: 'Your trip',
  requestedSchema: { type: 'object', properties, required },
})

describe.skipIf(missing !== undefined)('a form in a terminal', () => {
  test('is filled in with the keyboard, back and forth, and sent as reviewed', async () => {
    const terminal = asked(
      form(
        {
          name: { type: 'string', title: 'Name', minLength: 2 },
          seat: {
            type: 'string',
            oneOf: [
              { const: 'w', title: 'Window' },
              { const: 'a', title: 'Aisle' },
            ],
          },
          extras: { type: 'array', items: { type: 'string', enum: ['bag', 'meal'] } },
        },
        ['name'],
      ),
    )
    await terminal.until('Answer this?')
    expect(terminal.history()).toContain('Only give what you trust this server with.')
    terminal.press('enter')
    await terminal.until('Name: At least 2 characters.')
    terminal.type('A\r')
    await terminal.until('This needs at least 2 characters.')
    terminal.type('da\r')
    await terminal.until('◆  seat (optional)')
    terminal.press('escape')
    await terminal.until(/◆ {2}Name: .*\n│ {2}Ada/)
    terminal.type('!\r')
    await terminal.until(/◆ {2}seat \(optional\)/)
    terminal.press('up', 'up', 'enter')
    await terminal.until('◆  extras (optional)')
    terminal.press('down', 'space', 'enter')
    await terminal.until('Send it?')
    for (const line of ['Name: Ada!', 'seat: Window (w)', 'extras: meal']) {
      expect(terminal.history()).toContain(line)
    }
    terminal.press('enter')
    await terminal.until('answered', { anywhere: true })
    expect(terminal.history().replaceAll(/\s+/g, ' ')).toContain(
      '{"action":"accept","content":{"name":"Ada!","seat":"w","extras":["meal"]}}',
    )
    expect(await terminal.exited).toBe(0)
  })

  test.each(['escape', 'ctrl+c'] as const)('is cancelled by %s', async (key) => {
    const terminal = asked(form({ name: { type: 'string' } }))
    await terminal.until('Answer this?')
    terminal.press(key)
    await terminal.until('answered {"action":"cancel"}', { anywhere: true })
  })

  test('taller than the terminal scrolls, and its last choice can be taken', async () => {
    const choices = Array.from({ length: 60 }, (_, n) => `choice ${n + 1}`)
    const terminal = asked(form({ way: { type: 'string', enum: choices } }, ['way']), { rows: 12 })
    await terminal.until('Answer this?')
    terminal.press('enter')
    await terminal.until('choice 1')
    terminal.press('up')
    await terminal.until('choice 60')
    expect(terminal.screen().join('\n')).toContain('◆  way')
    terminal.press('enter')
    await terminal.until('Send it?')
    terminal.press('enter')
    await terminal.until('"way":"choice 60"', { anywhere: true })
  })

  test('that asks for a password stands at a refusal', async () => {
    const terminal = asked(form({ password: { type: 'string' } }))
    await terminal.until('What now?')
    terminal.press('enter')
    await terminal.until('answered {"action":"decline"}', { anywhere: true })
  })
})

describe.skipIf(missing !== undefined || process.platform !== 'linux')('a page in a terminal', () => {
  /** A browser that notes what it was started with. */
  function browser(folder: string): { env: Record<string, string>; opened: () => string } {
    const note = join(folder, 'opened')
    const program = join(folder, 'xdg-open')
    writeFileSync(note, '')
    writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >> '${note}'\n`)
    chmodSync(program, 0o755)
    return {
      env: { PATH: `${folder}${delimiter}${process.env['PATH']}` },
      opened: () => readFileSync(note, 'utf8'),
    }
  }

  test('is shown whole and wrapped, and opened by its address alone, as one argument and by no shell', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-browser-'))
    const { env, opened } = browser(folder)
    const url = `https://pay.example/$(touch%20x);\`id\`&a=${'x'.repeat(4_200)}'end`
    const terminal = asked({ mode: 'url', message: 'Pay', url }, { env, cols: 80 })
    await terminal.until('Go there?')
    expect(terminal.history().replaceAll(/[\s│]+/g, '')).toContain(new URL(url).href)
    expect(opened()).toBe('')
    terminal.press('down', 'enter')
    await terminal.until('Did you finish there?')
    await expect.poll(opened).toBe(`1\n${new URL(url).href}\n`)
    terminal.press('enter')
    await terminal.until('answered {"action":"accept"}', { anywhere: true })
  })
})
