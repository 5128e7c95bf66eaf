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

describe.skipIf(missing !== undefined)('question output on a terminal', { timeout: 60_000 }, () => {
  test('disappears when answered elsewhere, with the name of the answering surface, and none remains', async () => {
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
    expect(terminal.history()).not.toContain('open question')
  })

  test('is not shown for a call that the user types', async () => {
    const ann = person()
    configured(ann, everything, { roots: false })
    const terminal = ann.terminal(['chat', '--model', 'offline'])
    await terminal.until(prompt)
    terminal.type('/call demo__get-sum a=2 b=3\r')
    await terminal.until('The sum of 2 and 3 is 5.')
    expect(terminal.history()).not.toContain('Allow this call?')
  })

  test('does not stay in the inbox after roots were denied', async () => {
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

  test('names the store of a deferred question', async () => {
    const ann = person()
    const store = `${ann.home}/other.db`
    const terminal = ann.terminal(['call', 'book', '--store', store, '--', process.execPath, asking], {}, 160)
    await terminal.until('esc later')
    terminal.press('escape')
    await terminal.until(`--store ${store}`)
  })
})
