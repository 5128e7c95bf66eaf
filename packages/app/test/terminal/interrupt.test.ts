import { describe, expect, test } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { everything } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, person } from './person.ts'

const asking = programFile(new URL('../cli/asking-server.ts', import.meta.url))

async function chatting(defaultVerdict: 'ask' | 'allow', command: readonly string[]) {
  const ann = person()
  const provider = await model()
  const [program, ...args] = command
  const file = ann.write('.config/jackfield/config.json', {
    mcpServers: { demo: { command: program, args, roots: false } },
    jackfield: { defaultVerdict },
  })
  const terminal = ann.terminal(['chat'], provider.env)
  await terminal.until(/you › *$/m)
  return { ann, provider, terminal, file }
}

describe.skipIf(missing !== undefined)('Ctrl+C at a question', { timeout: 60_000 }, () => {
  test('stops the turn at an approval: the model gets no further request', async () => {
    const { ann, provider, terminal } = await chatting('ask', everything)
    terminal.type('add\r')
    const first = await provider.next()
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until('Allow this call?')
    terminal.press('ctrl+c')
    await terminal.until(/Stopped\.[\s\S]*you › *$/m)
    expect(provider.count).toBe(1)
    const { questions } = JSON.parse((await ann.quietly('inbox', '--all', '--json')).stdout)
    expect(questions.map(({ state }: { state: string }) => state)).toEqual(['withdrawn'])
  })

  test('stops the turn at a form of a server', async () => {
    const { provider, terminal } = await chatting('allow', [process.execPath, asking])
    terminal.type('book\r')
    const first = await provider.next()
    first.call('demo__book', {})
    await terminal.until('Which seat?')
    await terminal.until('esc later')
    terminal.press('ctrl+c')
    await terminal.until(/Stopped\.[\s\S]*you › *$/m)
    expect(provider.count).toBe(1)
  })

  test('ends a command with a message', async () => {
    const ann = person()
    const terminal = ann.terminal(['call', 'book', '--', process.execPath, asking])
    await terminal.until('Which seat?')
    await terminal.until('esc later')
    terminal.press('ctrl+c')
    expect(await terminal.exited).toBe(130)
    expect(terminal.history()).toContain('Interrupted.')
  })

  test('differs from Esc, which leaves the approval in the inbox and continues the answer', async () => {
    const { provider, terminal } = await chatting('ask', everything)
    terminal.type('add\r')
    const first = await provider.next()
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until('Allow this call?')
    terminal.press('escape')
    await terminal.until('waits for you: /respond')
    const second = await provider.next()
    second.end('I wait.')
    await terminal.until(/I wait\.[\s\S]*1 open question/)
  })
})
