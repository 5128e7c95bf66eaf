import { describe, expect, test } from 'vitest'
import { everything } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, person } from './person.ts'

async function chatting() {
  const ann = person()
  const provider = await model()
  const [command, ...args] = everything
  ann.write('.config/jackfield/config.json', {
    mcpServers: { demo: { command, args, roots: false } },
    jackfield: { defaultVerdict: 'ask' },
  })
  const terminal = ann.terminal(['chat'], provider.env)
  await terminal.until(/you › *$/m)
  return { provider, terminal }
}

describe.skipIf(missing !== undefined)('a question during typing', { timeout: 60_000 }, () => {
  test('takes no key of the message; the text stays in the message', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('add\r')
    const first = await provider.next()
    first.write('Let me see.')
    await terminal.until('Let me see.')
    for (const key of 'wh') terminal.type(key)
    await terminal.until(/you › wh$/m)
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until('Allow this call?')
    await terminal.until('stop typing to answer')
    // Each key arrives alone, as from a person, and each of them would answer the question.
    for (const key of ['y', 'a', 'm', 'l', 'n', '\r', 'y']) {
      terminal.type(key)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await terminal.until(/Allow this call\?[\s\S]*● No \[n\]/)
    expect(terminal.screen().join('\n')).not.toContain('stop typing')
    expect(provider.count).toBe(1)
    terminal.type('y')
    const second = await provider.next()
    second.end('Five.')
    await terminal.until(/Five\.[\s\S]*you › whyamlny$/m)
  })

  test('is cancelled with Ctrl+C at once', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('add\r')
    const first = await provider.next()
    first.write('Let me see.')
    await terminal.until('Let me see.')
    terminal.type('wh')
    await terminal.until(/you › wh$/m)
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until('stop typing to answer')
    terminal.press('ctrl+c')
    await terminal.until(/Stopped\.[\s\S]*you › wh$/m)
    expect(provider.count).toBe(1)
  })

  test('takes no keys of the next message, which begins right after one is sent', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('add\r')
    const first = await provider.next()
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until('Allow this call?')
    for (const key of 'yes') {
      terminal.type(key)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await terminal.until('stop typing to answer')
    await terminal.until(/Allow this call\?[\s\S]*● No \[n\]/)
    expect(provider.count).toBe(1)
    terminal.type('y')
    const second = await provider.next()
    second.end('Five.')
    await terminal.until(/Five\.[\s\S]*you › yes$/m)
  })

  test('accepts a key if the message line is empty', async () => {
    const { provider, terminal } = await chatting()
    terminal.type('add\r')
    const first = await provider.next()
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until(/Allow this call\?[\s\S]*● No \[n\]/)
    terminal.type('y')
    const second = await provider.next()
    second.end('Five.')
    await terminal.until('Five.')
  })
})
