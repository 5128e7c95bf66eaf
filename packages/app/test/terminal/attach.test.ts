import { describe, expect, test } from 'vitest'
import type { Terminal } from '../../../../scripts/terminal/terminal.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { filesystem } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, person, prompt, say } from './person.ts'

const shelf = programFile(new URL('shelf-server.ts', import.meta.url))

async function chatting(cols = 100) {
  const ann = person()
  const provider = await model()
  ann.write('config.json', {
    mcpServers: { shelf: { command: process.execPath, args: [shelf], roots: false } },
  })
  const words = ['chat', '--config', 'config.json']
  const terminal = ann.terminal(words, provider.env, cols)
  await terminal.until(prompt)
  return { ann, provider, terminal }
}

const widest = (terminal: Terminal): number => Math.max(...terminal.screen().map((line) => line.length))

describe.skipIf(missing !== undefined)('/attach', { timeout: 60_000 }, () => {
  test.each([100, 40])(
    'searches, selects several with their costs, and attaches them, in %i columns',
    async (cols) => {
      const { provider, terminal } = await chatting(cols)
      terminal.type('/attach\r')
      await terminal.until('Attach: 7 of 7 shown')
      await terminal.until(/▸ ○ The plan +shelf +1\.0 kB/)
      await terminal.until('doc://plan')
      await terminal.until(/What is to be done this year/)
      expect(widest(terminal)).toBeLessThanOrEqual(cols)
      terminal.press('space')
      await terminal.until(/◉ The plan +shelf +292 tokens/)
      terminal.press('down', 'space')
      await terminal.until(/2 chosen, 44\d tokens$/m)
      terminal.type('diary')
      await terminal.until('search › diary')
      await terminal.until(/▸ ✗ Diary/)
      await terminal.until('Not given to a model')
      terminal.press('space')
      await terminal.until(/2 chosen/)
      terminal.press('enter')
      await terminal.until(/\+ The plan +doc:\/\/plan +about 292\s+tokens/)
      await terminal.until(/\+ Notes +doc:\/\/notes/)
      await terminal.until(prompt)
      expect(terminal.history()).not.toContain('search ›')
      terminal.type('Read it\r')
      const request = await provider.next()
      expect(JSON.stringify(request.messages)).toContain('word word')
      request.end('Read.')
      await terminal.until('Read.')
    },
  )

  test('asks for the variables of a template, with server completions on Tab', async () => {
    const { terminal } = await chatting()
    terminal.type('/attach a page\r')
    await terminal.until(/▸ ○ A page +shelf +template/)
    terminal.press('enter')
    await terminal.until(/book › *$/m)
    terminal.type('alm')
    terminal.press('tab')
    await terminal.until('book › almanac')
    terminal.press('enter')
    await terminal.until(/page › *$/m)
    terminal.press('tab')
    await terminal.until(/page › almanac-$/m)
    terminal.type('2\r')
    await terminal.until(/\+ book:\/\/almanac\/page\/almanac-2/)
  })

  test('completes the variables of a template in a typed URI', async () => {
    const { terminal } = await chatting()
    terminal.type('/attach shelf book')
    terminal.press('tab')
    await terminal.until('/attach shelf book://')
    terminal.type('at')
    terminal.press('tab')
    await terminal.until('/attach shelf book://atlas/page/')
    terminal.press('tab')
    await terminal.until(/book:\/\/atlas\/page\/atlas-$/m)
    terminal.type('1\r')
    await terminal.until(/\+ book:\/\/atlas\/page\/atlas-1/)
  })

  test('does not pass its keys to a question, which is asked afterwards', async () => {
    const { ann, terminal } = await chatting()
    terminal.type('/attach\r')
    await terminal.until('Attach: 7 of 7 shown')
    // A server that asks for the open folders, which a person decides.
    const [command, ...args] = filesystem(ann.home)
    const own = { command: process.execPath, args: [shelf], roots: false }
    ann.write('config.json', { mcpServers: { shelf: own, files: { command, args } } })
    await expect
      .poll(async () => (await ann.quietly('inbox', '--json')).stdout, { timeout: 30_000 })
      .toContain('"roots"')
    terminal.press('down', 'space')
    await terminal.until(/◉ Notes/)
    expect(terminal.screen().join('\n')).not.toContain('Share these folders?')
    terminal.press('enter')
    await terminal.until('Share these folders?')
    terminal.press('escape')
    await terminal.until(/\+ Notes +doc:\/\/notes/)
  })

  test('ends with Ctrl+C, and the conversation continues', async () => {
    const { terminal } = await chatting()
    terminal.type('/attach\r')
    await terminal.until('Attach: 7 of 7 shown')
    terminal.press('ctrl+c')
    await terminal.until(/Nothing was attached\.[\s\S]*you › *$/m)
    terminal.type('/attached\r')
    await terminal.until('Nothing is attached.')
  })

  test('changes nothing on Esc', async () => {
    const { terminal } = await chatting()
    terminal.type('/attach\r')
    await terminal.until('Attach: 7 of 7 shown')
    terminal.press('space', 'escape')
    await terminal.until('Nothing was attached.')
    await say(terminal, '/attached')
    await terminal.until('Nothing is attached.')
  })

  test('is undone with /detach, by number or for everything', async () => {
    const { provider, terminal } = await chatting()
    for (const uri of ['doc://plan', 'doc://notes', 'doc://rules']) {
      await say(terminal, `/attach shelf ${uri}`)
      await terminal.until(`${uri}  about`)
    }
    await say(terminal, '/detach')
    await terminal.until('Usage: /detach <number | all>')
    await say(terminal, '/detach 1')
    await terminal.until('- The plan  doc://plan  is no longer attached; it is not sent.')
    await say(terminal, 'Hello')
    const request = await provider.next()
    const sent = JSON.stringify(request.messages)
    expect(sent).toContain('rhyme')
    expect(sent.match(/word word/g)?.length).toBeLessThan(60)
    request.end('Hi.')
    await terminal.until(/Hi\.[\s\S]*you › *$/m)
    terminal.type('/detach all\r')
    await terminal.until(/House rules .*is no longer attached; the model keeps what it was given before\./)
    await say(terminal, '/detach all')
    await terminal.until('Nothing is attached.')
  })
})

test('in a pipe, /attach needs an argument, and lists matches', async () => {
  const ann = person()
  ann.write('config.json', {
    mcpServers: { shelf: { command: process.execPath, args: [shelf], roots: false } },
  })
  const script = ann.write('script.json', { turns: [] })
  const lines = [
    '/attach',
    '/attach plan',
    '/attach shelf book://{book}/page/{page} book=atlas page=3',
    '/attach shelf book://{book}/page/{page} book=atlas',
  ]
  const { stdout, stderr } = await ann.piped(
    lines,
    'chat',
    '--config',
    'config.json',
    '--model',
    `script:${script}`,
  )
  expect(stderr).toContain('Usage: /attach <server> <uri>')
  expect(stderr).toContain('  /attach shelf doc://plan')
  expect(stdout).toMatch(/\+ book:\/\/atlas\/page\/3/)
  expect(stderr).toContain('The template book://{book}/page/{page} needs page')
})
