import { describe, expect, test } from 'vitest'
import { choose } from '../../../../scripts/terminal/choose.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { everything, filesystem } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, type Person, person, prompt } from './person.ts'

const asking = programFile(new URL('../cli/asking-server.ts', import.meta.url))

function configured(ann: Person, [command, ...args]: readonly string[], more: object = {}): void {
  ann.write('.config/jackfield/config.json', {
    mcpServers: { demo: { command, args, ...more } },
    jackfield: { defaultVerdict: 'ask' },
  })
}

describe.skipIf(missing !== undefined)('what a terminal shows of questions', { timeout: 60_000 }, () => {
  test('one that is answered elsewhere disappears and names who answered, and none waits any more', async () => {
    const ann = person()
    configured(ann, everything, { roots: false })
    const provider = await model()
    const terminal = ann.terminal(['chat'], provider.env)
    await terminal.until(prompt)
    terminal.type('add\r')
    const first = await provider.next()
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until('Allow this call?')
    await terminal.until('Yes, this once')
    const { questions } = JSON.parse((await ann.quietly('inbox', '--json')).stdout)
    expect((await ann.quietly('respond', questions[0].id, '--allow')).code).toBe(0)
    await terminal.until('Answered by jackfield respond.')
    const second = await provider.next()
    second.end('Five.')
    await terminal.until(/Five\.[\s\S]*you › *$/m)
    expect(terminal.history()).not.toContain('Yes, this once')
    expect(terminal.history()).not.toContain('question waits')
  })

  test('a call that the person types is not asked about', async () => {
    const ann = person()
    configured(ann, everything, { roots: false })
    const terminal = ann.terminal(['chat', '--model', 'offline'])
    await terminal.until(prompt)
    terminal.type('/call demo__get-sum a=2 b=3\r')
    await terminal.until('The sum of 2 and 3 is 5.')
    expect(terminal.history()).not.toContain('Allow this call?')
  })

  test('folders that are kept from a server are not left in the inbox', async () => {
    const ann = person()
    configured(ann, filesystem(ann.home))
    const terminal = ann.terminal(['chat', '--model', 'offline', '--root', ann.home])
    await terminal.until('Share these folders?')
    await choose(terminal, 'No')
    await terminal.until(prompt)
    expect(terminal.history()).not.toContain('Left in the inbox')
    const { questions } = JSON.parse((await ann.quietly('inbox', '--json')).stdout)
    expect(questions).toEqual([])
    expect(terminal.history().match(/Share these folders\?/g)).toHaveLength(1)
  })

  test('a question left for later names the store it waits in', async () => {
    const ann = person()
    const store = `${ann.home}/other.db`
    const terminal = ann.terminal(['call', 'book', '--store', store, '--', process.execPath, asking], {}, 160)
    await terminal.until('esc later')
    terminal.press('escape')
    await terminal.until(`--store ${store}`)
  })
})
