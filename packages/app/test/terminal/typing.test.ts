import { describe, expect, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, type Person, person, prompt } from './person.ts'

async function chatting(ann: Person = person()) {
  const provider = await model()
  const [command, ...args] = travel()
  ann.write('.config/jackfield/config.json', { mcpServers: { trip: { command, args } } })
  const terminal = ann.terminal(['chat'], provider.env, 60)
  await terminal.until(prompt)
  return { ann, provider, terminal }
}

const rows = (text: string): string[] => text.split('\n').map((line) => line.trimEnd())

describe.skipIf(missing !== undefined)('typing in a conversation', { timeout: 60_000 }, () => {
  test('a paste of several lines is one message, with or without bracketed paste', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('first\rsecond\rthird')
    await terminal.until(/you › first\n +second\n +third/)
    terminal.press('enter')
    const plain = await provider.next()
    expect(plain.last).toBe('first\nsecond\nthird')
    plain.end('One.')
    await terminal.until(/One\.[\s\S]*you › *$/m)
    terminal.type('\u001b[200~alpha\r\nbeta\n\u001b[201~')
    await terminal.until('beta')
    terminal.press('enter')
    const marked = await provider.next()
    expect(marked.last).toBe('alpha\nbeta')
    marked.end('Two.')
    await terminal.until('Two.')
  })

  test('lines sent while an answer streams are queued, shown as queued, and sent one after another', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('one\r')
    const first = await provider.next()
    first.write('The answer ')
    await terminal.until('The answer')
    terminal.type('two\r')
    await terminal.until('queued › two')
    terminal.type('three\r')
    await terminal.until('queued › three')
    terminal.type('fo')
    await terminal.until(/you › fo$/m)
    first.write('goes on in the same line.\nAnd in another ')
    await terminal.until('And in another')
    terminal.type('ur')
    await terminal.until(/you › four$/m)
    first.end('line.')
    const second = await provider.next()
    expect(second.last).toBe('two')
    second.end('Yes.')
    const third = await provider.next()
    expect(third.last).toBe('three')
    third.end('Done.')
    await terminal.until(/Done\.[\s\S]*you › four$/m)
    const shown = rows(terminal.history())
    expect(shown).toContain('  The answer goes on in the same line.')
    expect(shown).toContain('  And in another line.')
    expect(shown.filter((line) => line.startsWith('you ›'))).toEqual([
      'you › one',
      'you › two',
      'you › three',
      'you › four',
    ])
  })

  test('Ctrl+C stops the answer, and queued messages can be edited', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('one\r')
    const first = await provider.next()
    first.write('A long answer ')
    await terminal.until('A long answer')
    terminal.type('two\r')
    await terminal.until('queued › two')
    terminal.press('ctrl+c')
    await terminal.until(/Stopped\.[\s\S]*you › two$/m)
    expect(provider.count).toBe(1)
  })

  test('inserts a new line with Alt+Enter, Ctrl+J, and a backslash before Enter', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('a')
    terminal.type('\u001b\r')
    await terminal.until(/you › a\n *$/m)
    terminal.type('b')
    await terminal.until(/you › a\n +b$/m)
    terminal.type('\n')
    await terminal.until(/you › a\n +b\n *$/m)
    terminal.type('c\\')
    await terminal.until('c\\')
    terminal.press('enter')
    await terminal.until(/ c\n *$/m)
    terminal.type('d')
    await terminal.until(/ c\n +d$/m)
    terminal.press('up', 'up', 'up')
    terminal.type('X')
    await terminal.until('you › aX')
    terminal.press('enter')
    expect((await provider.next()).last).toBe('aX\nb\nc\nd')
  })

  test('is found again with Up and Ctrl+R in a later conversation', async () => {
    const first = await chatting()
    for (const words of ['Sail to Oslo', 'Fly to Rome']) {
      first.terminal.type(`${words}\r`)
      const request = await first.provider.next()
      request.end('Fine.')
      await first.terminal.until(new RegExp(String.raw`${words}\n+ +Fine\.[\s\S]*you › *$`, 'm'))
    }
    await first.terminal.close()

    const { provider, terminal } = await chatting(first.ann)
    terminal.press('up')
    await terminal.until(/you › Fly to Rome$/m)
    terminal.press('down')
    await terminal.until(prompt)
    terminal.type('\u0012')
    terminal.type('sail')
    await terminal.until(/\(search\) sail › Sail to Oslo$/m)
    terminal.press('enter')
    await terminal.until(/you › Sail to Oslo$/m)
    terminal.press('enter')
    expect((await provider.next()).last).toBe('Sail to Oslo')
  })

  test('in an empty conversation, a first message is suggested, and Tab inserts it', async () => {
    const { provider, terminal } = await chatting()
    await terminal.until(/^Tab: \/trip\.plan-vacation\nyou › *$/m)
    terminal.press('tab')
    await terminal.until(/you › \/trip\.plan-vacation$/m)
    expect(terminal.screen().join('\n')).not.toContain('Tab:')
    terminal.press('ctrl+c')
    await terminal.until(/\/quit\)\nyou › *$/m)
    terminal.type('Hello\r')
    const request = await provider.next()
    expect(request.last).toBe('Hello')
    request.end('Hi.')
    await terminal.until(/Hi\.[\s\S]*you › *$/m)
    terminal.press('tab')
    terminal.type('y')
    await terminal.until(/you › y$/m)
    expect(terminal.history()).not.toMatch(/Tab: /)
  })

  test('Ctrl+C stops a command that asks the model, and the conversation continues', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('Hello\r')
    const first = await provider.next()
    first.end('Hi.')
    await terminal.until(/Hi\.[\s\S]*you › *$/m)
    terminal.type('/compact\r')
    await provider.next()
    terminal.press('ctrl+c')
    await terminal.until(/Stopped\.[\s\S]*you › *$/m)
    terminal.type('Still there?\r')
    expect((await provider.next()).last).toBe('Still there?')
  })
})
