import { describe, expect, test } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { model } from './model.ts'
import { missing, person, prompt } from './person.ts'

const answer = [
  '## Ferries',
  '',
  'The **night boat** is `cheapest`, see [the timetable](https://boats.example/oslo).',
  '',
  '- Oslo',
  '- Kiel',
  '',
  '| From | Price |',
  '|---|---|',
  '| Oslo | 90 |',
  '',
  '> Book early.',
  '',
  '```',
  'a   b',
  '```',
].join('\n')

describe.skipIf(missing !== undefined)('model output', { timeout: 60_000 }, () => {
  test.each([100, 40])('is rendered block by block as it streams, in %i columns', async (cols) => {
    const ann = person()
    ann.write('config.json', { mcpServers: {} })
    const provider = await model()
    const terminal = ann.terminal(
      ['chat', '--config', 'config.json'],
      { ...provider.env, NO_COLOR: '', FORCE_COLOR: '1' },
      cols,
    )
    await terminal.until(prompt)
    terminal.type('How do I get to Kiel?\r')
    const request = await provider.next()
    const half = answer.indexOf('timetable')
    request.write(answer.slice(0, half))
    await terminal.until(/^ {2}Ferries$/m)
    await terminal.until(/^ {2}(?:The|…).*\[the$/m)
    request.write(answer.slice(half))
    request.end()
    await terminal.until(/^ {2}a {3}b$/m)
    await terminal.until(prompt)
    const shown = terminal.history()
    expect(shown.replaceAll(/\s+/g, ' ')).toContain(
      'The night boat is cheapest, see the timetable (https://boats.example/oslo).',
    )
    expect(shown).toMatch(
      /^ {2}- Oslo\n {2}- Kiel\n\n {2}From +Price\n {2}Oslo +90\n\n {2}│ Book early\.\n\n {2}```\n {2}a {3}b\n {2}```$/m,
    )
    const bold = terminal
      .cells()
      .flat()
      .filter(({ bold }) => bold)
      .map(({ text }) => text)
      .join('')
    expect(bold).toContain('Ferries')
    expect(bold).toContain('night boat')
  })

  test('is complete and separate from notices in between', async () => {
    const ann = person()
    const notes = {
      command: process.execPath,
      args: [programFile(new URL('notes-server.ts', import.meta.url))],
    }
    ann.write('config.json', { mcpServers: {} })
    const provider = await model()
    const terminal = ann.terminal(['chat', '--config', 'config.json'], provider.env)
    await terminal.until(prompt)
    terminal.type('Go\r')
    const request = await provider.next()
    request.write('One sentence that ')
    await terminal.until(/^ {2}One sentence that$/m)
    ann.write('config.json', { mcpServers: { notes: { ...notes, roots: false } } })
    await terminal.until(/^added by the configuration: notes$/m)
    request.end('goes on.')
    await terminal.until(/^ {2}One sentence that goes on\.$/m)
    expect(terminal.history().match(/One sentence/g)).toHaveLength(1)
  })

  test('keeps its marks without colours, and is raw in a pipe', async () => {
    const ann = person()
    ann.write('config.json', { mcpServers: {} })
    const script = ann.write('script.json', { turns: [{ say: answer }] })
    const words = ['chat', '--config', 'config.json', '--model', `script:${script}`]
    const terminal = ann.terminal(words)
    await terminal.until(prompt)
    terminal.type('Go\r')
    await terminal.until(/^ {2}## Ferries$/m)
    await terminal.until('The **night boat** is `cheapest`, see the timetable (https://boats.example/oslo).')
    const { stdout } = await ann.piped(['Go'], ...words)
    expect(stdout).toContain(answer)
  })
})
