import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type Key,
  openTerminal,
  type Terminal,
  terminalMissing,
} from '../../../../scripts/terminal/terminal.ts'
import { builtProgram, startOptions } from '../../../../test/setup/built-program.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { prompt, say } from './person.ts'

const bin = builtProgram('jackfield')
const notes = programFile(new URL('notes-server.ts', import.meta.url))
const missing = terminalMissing()
if (missing !== undefined) process.stderr.write(`The chat is not tested in a terminal: ${missing}\n`)

type Turn = { say?: string; call?: { name: string; arguments?: Record<string, unknown> }[] }

/** A person's folder with a server of notes, and conversations there. */
function home() {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-news-'))
  const write = (name: string, value: unknown): string => {
    const file = join(folder, name)
    writeFileSync(file, JSON.stringify(value))
    return file
  }
  const mcpServers = { notes: { command: process.execPath, args: [notes], roots: false } }
  const config = write('config.json', { mcpServers, jackfield: { defaultVerdict: 'allow' } })
  const open = (...turns: Turn[]): Terminal => {
    const model = `script:${write('script.json', { turns })}`
    const words = [bin, 'chat', '--config', config, '--model', model]
    const env = { HOME: folder, XDG_DATA_HOME: folder, NO_COLOR: '1' }
    const terminal = openTerminal([process.execPath, ...startOptions, ...words], { cwd: folder, env })
    onTestFinished(() => terminal.close())
    return terminal
  }
  return Object.assign(open, { config, mcpServers })
}

describe.skipIf(missing !== undefined)('events beside a conversation', () => {
  test('include servers added to a file, without control characters', async () => {
    const open = home()
    const { config, mcpServers } = open
    const terminal = open()
    await terminal.until(prompt)
    const added = { ...mcpServers, 'a\u001b[2Jb': mcpServers.notes }
    writeFileSync(config, JSON.stringify({ mcpServers: added }))
    await terminal.until('added by the configuration: ab')
  })

  test('appear once: an attachment changed, with the commands to show and update it', async () => {
    const terminal = home()()
    await say(terminal, '/attach notes note://today')
    await terminal.until(/\+ Today +note:\/\/today/)
    await say(terminal, '/attached')
    await terminal.until(/1 +notes +Today +just now +\d+ +current/)
    await say(terminal, '/call notes__write text="Oslo is warm. The boat leaves at nine. Bring a coat."')
    await terminal.until('! Today (note://today) changed since it was attached. /attach again')
    await say(terminal, '/attached')
    await terminal.until('changed since\n')
    await say(terminal, '/attach again')
    await terminal.until(/Oslo is \[-cold-\]\{\+warm\+\}\. The boat/)
    await terminal.until(/\+ Today +note:\/\/today +about \d+ tokens; it is sent with your[\s\S]*you › *$/m)
    expect(terminal.history().match(/changed since it was attached/g)).toHaveLength(1)
    await say(terminal, '/attach again')
    await terminal.until('No attached resource is known to have changed.')
  })

  test('appear once: new tools; help lists every command; the log is available', async () => {
    const terminal = home()()
    await say(terminal, '/call notes__grow')
    await terminal.until('Accept them?')
    terminal.press('down', 'enter')
    await terminal.until('Tools: new: notes__prune. /tools lists them.')
    await say(terminal, '/help')
    await terminal.until('Ctrl+C stops the running turn.')
    // Text typed after an intervening question appears once.
    expect(terminal.history().match(/\/help$/gm)).toEqual(['/help'])
    for (const command of [
      '/log',
      '/inbox',
      '/respond <id>',
      '/attached',
      '/attach [words | <server> <uri>]',
    ]) {
      expect(terminal.history()).toContain(command)
    }
    await say(terminal, '/log server:notes method:tools/call')
    await terminal.until(/tools\/call[\s\S]*\d+ events?/)
    await say(terminal, '/log kind:nonsense')
    await terminal.until(/\^\n/)
    expect(terminal.history().match(/notes__prune\. \/tools/g)).toHaveLength(1)
  })
})

describe.skipIf(missing !== undefined)('a prompt of several arguments', () => {
  test('needs at most 12 keys besides the typed text, and starts the next time with the same values, except secrets', async () => {
    const open = home()
    let pressed = 0
    const press = (terminal: Terminal, ...some: Key[]): void => {
      pressed += some.length
      terminal.press(...some)
    }
    const first = open({ say: 'Dear Ada' })
    await first.until(prompt)
    for (const key of '/wr') {
      pressed += 1
      first.type(key)
    }
    press(first, 'tab')
    await first.until('/notes.write-letter ')
    press(first, 'enter')
    await first.until(/ to › *$/m)
    first.type('Ada')
    press(first, 'enter')
    await first.until(/ password › *$/m)
    first.type('hunter2')
    press(first, 'enter')
    await first.until(/\[tone=…\] \[length=…\]\n +more, or nothing › *$/m)
    first.type('tone="very warm"')
    press(first, 'enter')
    await first.until(/user: Write a short letter to Ada, very warm in tone\.[\s\S]*\[Y\/n\/e\(dit\)\] › *$/m)
    press(first, 'enter')
    await first.until('Dear Ada')
    expect(pressed).toBeLessThanOrEqual(12)
    await first.close()

    const second = open({ say: 'Dear Ada again' })
    await say(second, '/notes.write-letter')
    await second.until(/ to › Ada$/m)
    second.press('enter')
    await second.until(/ password › *$/m)
    second.type('x\r')
    await second.until(/more, or nothing › tone="very warm"$/m)
    second.press('enter')
    await second.until(/\[Y\/n\/e\(dit\)\] › *$/m)
    second.type('e\r')
    await second.until(/new line › Write a short letter to Ada, very warm in tone\.$/m)
    second.type(' Please.\r')
    await second.until(/user: Write a short letter to Ada, very warm in tone\. Please\.[\s\S]*› *$/m)
    second.type('\r')
    await second.until('Dear Ada again')
  })
})
