import { describe, expect, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, person } from './person.ts'

async function chatting() {
  const ann = person()
  const provider = await model()
  const [command, ...args] = travel()
  ann.write('.config/jackfield/config.json', { mcpServers: { trip: { command, args } } })
  const terminal = ann.terminal(['chat'], provider.env)
  await terminal.until(/you › *$/m)
  return { provider, terminal }
}

/** A conversation at the question of /compact. */
async function compacting() {
  const ann = person()
  const turns = ['Hi.', 'We met.', 'We met again.', 'I am.'].map((say) => ({ say }))
  ann.write('.config/jackfield/config.json', { mcpServers: {} })
  const terminal = ann.terminal(['chat', '--model', `script:${ann.write('script.json', { turns })}`])
  await terminal.until(/you › *$/m)
  terminal.type('Hello\r')
  await terminal.until(/Hi\.[\s\S]*you › *$/m)
  terminal.type('/compact\r')
  await terminal.until(/We met\.[\s\S]*e\(dit\)\] › *$/m)
  return terminal
}

describe.skipIf(missing !== undefined)('a short question of a command', { timeout: 60_000 }, () => {
  test('accepts only the listed answers, and asks again after any other input', async () => {
    const terminal = await compacting()
    terminal.type('what is this?\r')
    await terminal.until(
      /Possible: y or Enter means yes, n means no, e means edit\.\n.*\[Y\/n\/e\(dit\)\] › *$/m,
    )
    terminal.type('/help\r')
    await terminal.until(/Answer this question before a command: y or Enter[\s\S]*e\(dit\)\] › *$/m)
    terminal.type('No\r')
    await terminal.until(/Nothing was changed\.[\s\S]*you › *$/m)
    expect(terminal.history()).not.toContain('The model continues with the summary')
  })

  test.each(['ctrl+c', 'escape'] as const)(
    'is cancelled at once with %s, and so is its editor',
    async (key) => {
      const terminal = await compacting()
      terminal.press(key)
      await terminal.until(/Nothing was changed\.[\s\S]*you › *$/m)
      terminal.type('/compact\r')
      await terminal.until(/We met again\.[\s\S]*e\(dit\)\] › *$/m)
      terminal.type('e\r')
      await terminal.until(/summary › We met again\./)
      terminal.press(key)
      await terminal.until(/summary ›[\s\S]*Nothing was changed\.[\s\S]*you › *$/m)
      terminal.type('Still there?\r')
      await terminal.until(/I am\.[\s\S]*you › *$/m)
    },
  )

  test.each(['ctrl+c', 'escape'] as const)(
    'for an argument of a prompt is cancelled at once with %s',
    async (key) => {
      const { provider, terminal } = await chatting()
      terminal.type('/trip.plan-vacation\r')
      await terminal.until(/^ {2}\w.*› *$/m)
      terminal.press(key)
      await terminal.until(/Not sent\.[\s\S]*you › *$/m)
      terminal.type('Still there?\r')
      expect((await provider.next()).last).toBe('Still there?')
    },
  )
})
