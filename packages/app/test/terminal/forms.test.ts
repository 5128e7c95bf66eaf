import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  openTerminal,
  type Terminal,
  type TerminalOptions,
  terminalMissing,
} from '../../../../scripts/terminal/terminal.ts'
import { builtProgram, startOptions } from '../../../../test/setup/built-program.ts'
import { programFile } from '../../../../test/setup/program-file.ts'

const bin = builtProgram('jackfield')
const server = programFile(new URL('prying-server.ts', import.meta.url))
const missing = terminalMissing()
if (missing !== undefined) process.stderr.write(`Forms are not tested in a terminal: ${missing}\n`)

/** A call of a server that asks this, in a terminal. `first`: a command line of the shell that is run before. */
function asked(params: object, options: TerminalOptions = {}, first = ':'): Terminal & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-forms-'))
  const command = ['call', 'ask', '--', process.execPath, server, JSON.stringify(params)]
  const shell = ['-c', `${first}; exec "$0" "$@"`, process.execPath, ...startOptions, bin]
  const terminal = openTerminal(['/bin/sh', ...shell, ...command], {
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
  test('has 80 columns in a terminal without a known size', async () => {
    const terminal = asked(form({ name: { type: 'string' } }), { cols: 80 }, 'stty cols 0 rows 0')
    await terminal.until(/› name[\s\S]*Review and send +Decline +Decline, note why +Cancel +Later/)
  })

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
    await terminal.until(/› Name \*[\s\S]*At least 2 characters\.[\s\S]*seat +\(left out\)[\s\S]*extras/)
    expect(terminal.history()).toContain('Enter only what you trust this server with.')
    terminal.type('A')
    await terminal.until('✗ This needs at least 2 characters.')
    terminal.type('da')
    await terminal.until(/› Name \* +Ada\n(?![\s\S]*✗)/)
    terminal.press('tab', 'up', 'down', 'up')
    terminal.type('!\r')
    await terminal.until(/Name \* +Ada!\n│ {2}› seat/)
    terminal.press('enter')
    await terminal.until('find:')
    terminal.press('down', 'enter')
    await terminal.until(/seat +Window \(w\)\n│ {2}› extras/)
    terminal.press('enter', 'down', 'space', 'enter')
    await terminal.until('[Review and send]')
    terminal.press('enter')
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

  test.each([
    ['escape', 'Left in the inbox.'],
    ['ctrl+c', 'Interrupted.'],
  ] as const)('is cancelled by %s without an answer', async (key, shown) => {
    const terminal = asked(form({ name: { type: 'string' } }))
    await terminal.until('Review and send')
    terminal.type('Ada')
    await terminal.until(/› name +Ada/)
    terminal.press(key)
    await terminal.until(shown, { anywhere: true })
    expect(terminal.history()).not.toContain('answered {')
  })

  test.each(['ctrl+c', 'ctrl+d'] as const)('is erased by %s, without the lines above it', async (key) => {
    const fields = { first: { type: 'string' }, second: { type: 'string' } }
    const terminal = asked(form(fields, ['first', 'second']))
    await terminal.until('› first')
    const above = terminal.history().split('◆')[0] ?? ''
    expect(above).toContain('Your trip')
    terminal.press('down', 'down')
    await terminal.until(/✗[\s\S]*✗[\s\S]*\[Review and send\]/)
    terminal.press('up')
    await terminal.until('› second')
    terminal.press(key)
    await terminal.exited
    expect(terminal.history().startsWith(above.trimEnd())).toBe(true)
    expect(terminal.history()).not.toContain('second')
  })

  test('taller than the terminal scrolls, and its last choice can be selected', async () => {
    const choices = Array.from({ length: 200 }, (_, n) => `choice ${n + 1}`)
    const fields = Object.fromEntries(choices.slice(0, 8).map((name) => [name, { type: 'string' }]))
    const terminal = asked(form({ ...fields, way: { type: 'string', enum: choices } }, ['way']), {
      ...{ cols: 40, rows: 14 },
    })
    await terminal.until(/› choice 1[\s\S]*↓ \d more/)
    for (let n = 0; n < 8; n++) terminal.press('down')
    await terminal.until(/↑ \d more[\s\S]*› way \*/)
    terminal.press('enter')
    await terminal.until(/find:[\s\S]*choice 1$/m)
    terminal.press('up')
    await terminal.until('● choice 200')
    expect(terminal.screen().join('\n')).toContain('› way *')
    terminal.press('enter', 'enter')
    await terminal.until('Send it?')
    terminal.press('enter')
    await terminal.until(/way":"choice 200"/, { anywhere: true })
  })

  test('inserts a paste as text, and ignores keys without a meaning', async () => {
    const terminal = asked(form({ note: { type: 'string' }, other: { type: 'string' } }))
    await terminal.until('› note')
    terminal.type('\u001b[200~one\rtwo\u001b[201~\u001b[5~')
    await terminal.until(/› note +one⏎two/)
    terminal.press('tab', 'tab', 'enter')
    await terminal.until('Send it?')
    terminal.press('enter')
    await terminal.until('"note":"one\\ntwo"', { anywhere: true })
  })

  test('is asked field by field on a terminal that cannot draw', async () => {
    const terminal = asked(form({ name: { type: 'string', minLength: 2 } }, ['name']), {
      env: { TERM: 'dumb' },
    })
    await terminal.until('Answer this?')
    terminal.press('enter')
    await terminal.until('At least 2 characters.')
    terminal.type('Ada\r')
    await terminal.until('Send it?')
    terminal.press('enter')
    await terminal.until('"name":"Ada"', { anywhere: true })
  })

  test('for a password starts at a refusal', async () => {
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

  test('is shown in full, and opened by its URL alone, as one argument and without a shell', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-browser-'))
    const { env, opened } = browser(folder)
    const url = `https://pay.example/$(touch%20x);\`id\`&a=${'x'.repeat(4_200)}'end`
    const terminal = asked({ mode: 'url', message: 'Pay', url }, { env, cols: 80 })
    await terminal.until('Go there?')
    expect(terminal.history().replaceAll(/[\s│]+/g, '')).toContain(new URL(url).href)
    expect(opened()).toBe('')
    terminal.press('down', 'enter')
    await terminal.until('Did you finish on that page?')
    await expect.poll(opened).toBe(`1\n${new URL(url).href}\n`)
    terminal.press('enter')
    await terminal.until('answered {"action":"accept"}', { anywhere: true })
  })
})
