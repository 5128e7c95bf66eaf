import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTerminal, type Terminal, terminalMissing } from '../../../../scripts/terminal/terminal.ts'
import { builtProgram, startOptions } from '../../../../test/setup/built-program.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { begin } from '../cli/jackfield.ts'

const bin = builtProgram('jackfield')
const booking = programFile(new URL('../cli/asking-server.ts', import.meta.url))
const missing = terminalMissing()
if (missing !== undefined) process.stderr.write(`Later is not tested in a terminal: ${missing}\n`)

/** A person's folder with the server that asks for a seat, and terminals there. */
function home(era: 'session' | 'stateless', where: 'home' | 'folder' = 'home', jackfield = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-later-'))
  const write = (name: string, value: unknown): string => {
    const file = join(folder, name)
    writeFileSync(file, JSON.stringify(value))
    return file
  }
  const args = era === 'session' ? [booking, 'session'] : [booking]
  const mcpServers = { booking: { command: process.execPath, args } }
  const config = write(where === 'home' ? 'config.json' : '.mcp.json', { mcpServers, jackfield })
  const env = { HOME: folder, XDG_DATA_HOME: folder, NO_COLOR: '1' }
  function open(...words: string[]): Terminal {
    const given = where === 'home' && words[0] !== 'inbox' ? [...words, '--config', config] : words
    const terminal = openTerminal([process.execPath, ...startOptions, bin, ...given], { cwd: folder, env })
    onTestFinished(() => terminal.close())
    return terminal
  }
  return { folder, open, write }
}

/** The id of the last deferred question, as the terminal prints it. */
async function left(terminal: Terminal): Promise<string> {
  await terminal.until(/jackfield respond [0-9a-f]{8}/)
  return /.*jackfield respond ([0-9a-f]{8})/s.exec(terminal.history())?.[1] ?? ''
}

describe.skipIf(missing !== undefined)('a deferred question', () => {
  test.each(['session', 'stateless'] as const)(
    'is answered in a second terminal while the call waits in the first (%s)',
    async (era) => {
      const { open } = home(era)
      const first = open('call', 'booking', 'book')
      await first.until('› seat')
      first.type('12\u000c')
      const id = await left(first)
      const second = open('respond', id)
      await second.until('› seat')
      second.type('12A\ty\t')
      await second.until('[Review and send]')
      second.press('enter')
      await second.until('Send it?')
      second.press('enter')
      await second.until('Answered. The program that asked continues.')
      await first.until(/"action":"accept","content":\{"seat":"12A","window":true\}/)
      expect(await first.exited).toBe(0)
    },
  )

  test('or an open one can be answered elsewhere, and then disappears from the screen', async () => {
    const { open } = home('session')
    const first = open('call', 'booking', 'book')
    await first.until('› seat')
    first.type('half')
    await first.until('› seat *  half')
    const second = open('inbox')
    await second.until(/^[0-9a-f]{8} .* waits .* Which seat\?/m)
    const id = /^([0-9a-f]{8}) .* waits /m.exec(second.history())?.[1] ?? ''
    open('respond', id, '--accept', 'seat=1B')
    await first.until('"content":{"seat":"1B"}')
    expect(first.history()).not.toContain('Review and send')
    expect(await first.exited).toBe(0)
  })

  test('lets the conversation continue, and the model gets the result after the answer', async () => {
    const { open, write } = home('session')
    const script = write('script.json', {
      turns: [
        { say: 'I book.', call: [{ name: 'booking__book' }] },
        { say: 'Meanwhile, what else?' },
        { say: 'Seat 12A it is.' },
      ],
    })
    const terminal = open('chat', '--model', `script:${script}`)
    await terminal.until(/you › *$/m)
    terminal.type('Book a seat\r')
    await terminal.until('Allow this call?')
    terminal.type('l')
    const id = await left(terminal)
    await terminal.until(/◇ \[\d+\] booking__book +waits for you: \/respond [\s\S]*Meanwhile, what else\?/)
    await terminal.until(/1 open question: \/inbox\nyou › *$/m)
    terminal.type(`/respond ${id}\r`)
    await terminal.until(/● No[\s\S]*Yes, this once/)
    terminal.press('down', 'enter')
    await terminal.until('› seat')
    terminal.type('12A\t\t')
    await terminal.until('[Review and send]')
    terminal.type('r')
    await terminal.until('Send it?')
    terminal.press('enter')
    await terminal.until(/✓ \[\d+\] booking__book +·? ?.*"seat":"12A"/)
    await terminal.until('The model gets it with your next message.')
    await terminal.until(/you › *$/m)
    terminal.type('And?\r')
    await terminal.until('Seat 12A it is.')
  })

  test.each([
    [
      'stateless',
      /booking still waits: Which seat\? It stays in the inbox:\s+jackfield respond ([0-9a-f]{8})/,
    ],
    ['session', /booking still waits: Which seat\? The question and its call end with this conversation/],
  ] as const)(
    'is reported on exit: where to answer it, or that it ends with the conversation (%s)',
    async (era, notice) => {
      const { open, write } = home(era, 'home', { defaultVerdict: 'allow' })
      const turns = [{ say: 'I book.', call: [{ name: 'booking__book' }] }, { say: 'Later, then.' }]
      const terminal = open('chat', '--model', `script:${write('script.json', { turns })}`)
      await terminal.until(/you › *$/m)
      terminal.type('Book a seat\r')
      await terminal.until('› seat')
      terminal.type('\u000c')
      await terminal.until(/Later, then\.[\s\S]*you › *$/m)
      terminal.press('ctrl+d')
      await terminal.until(notice)
      expect(await terminal.exited).toBe(0)
      const id = notice.exec(terminal.history())?.[1]
      if (id === undefined) return
      const second = open('respond', id, '--accept', 'seat=9F')
      await second.until(/"seat":"9F"/)
    },
  )

  test('about a server start does not block the chat; its tools appear after the answer', async () => {
    const { open } = home('stateless', 'folder')
    const terminal = open('chat', '--model', 'offline')
    await terminal.until(/Start it for the first time\?/)
    terminal.type('l')
    const id = await left(terminal)
    await terminal.until(/0 of 1 servers are connected/)
    await terminal.until(/you › *$/m)
    terminal.type('half a line')
    const second = open('respond', id, '--allow')
    await second.until('Answered. The program that asked continues.')
    await terminal.until(/Tools: new: booking__book\. \/tools lists them\.\nyou › half a line/)
  })

  test('is preceded by a notice that its server was restarted, and repeats the call with consent', async () => {
    const server = programFile(new URL('../cli/sdk-asking-server.ts', import.meta.url))
    const { open, folder, write } = home('stateless')
    const mcpServers = { shop: { command: process.execPath, args: [server] } }
    const shop = ['--config', write('shop.json', { mcpServers })]
    const store = join(mkdtempSync(join(tmpdir(), 'jackfield-later-')), 'store.db')
    const first = begin(['call', 'shop', 'refund', '--park', '--store', store, ...shop], { cwd: folder })
    await first.waitForOutput('--cancel')
    first.child.kill('SIGKILL')
    await first.ended
    const [, id = ''] = /jackfield respond ([0-9a-f]{8})/.exec(first.output()) ?? []
    const second = open('respond', id, '--store', store, ...shop)
    await second.until('was restarted since it asked. If it rejects the answer')
    await second.until('Refund it?')
    second.type('y\t')
    await second.until('[Review and send]')
    second.press('enter')
    await second.until('Send it?')
    second.press('enter')
    await second.until('no longer accepts the answer to refund')
    await second.until(/● No[\s\S]*Yes, this once/)
    second.press('down', 'enter')
    await second.until('refunded: true')
    expect(await second.exited).toBe(0)
  })
})
