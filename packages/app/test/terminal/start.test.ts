import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Terminal } from '../../../../scripts/terminal/terminal.ts'
import { missing, person } from './person.ts'

/** What the screen shows while something waits for a key, and what a person who agrees does then. */
const steps: readonly [shown: RegExp, act: (terminal: Terminal) => void][] = [
  [/◆ {2}Where do you want to plan the trip\?/, (terminal) => terminal.press('enter')],
  [
    /◆ {2}(?:Allow this call|Share these folders|Send this to the model|Return this response)/,
    (terminal) => terminal.type('y'),
  ],
  [/◆ {2}Send it\?/, (terminal) => terminal.press('enter')],
  // Yes takes two keys; the other fields stay as they are.
  [/› Confirm booking \*/, (terminal) => terminal.press('space', 'space', 'tab', 'tab', 'tab', 'tab')],
  [/› Traveller\b/, (terminal) => terminal.press('tab', 'tab', 'tab', 'tab', 'tab', 'tab')],
  [/└ {2}←→ move · enter/, (terminal) => terminal.press('enter')],
]
const request = 'Plan and book a week in Barcelona on 2027-06-15 from New York'

describe.skipIf(missing !== undefined)('jackfield start in a terminal', () => {
  test('plans and books a trip with at most five answers, the booking among them', async () => {
    const { home, terminal: open, quietly } = person()
    const terminal = open(['start', '--model', 'offline'])
    const shown = (): string => terminal.screen().join('\n').trimEnd()
    let isAsked = false
    for (;;) {
      const ways = [/you › *$/, /Your trip to Barcelona is planned/, ...steps.map(([sign]) => sign)]
      await terminal.until(new RegExp(ways.map(({ source }) => source).join('|'), 'm'), { withinMs: 30_000 })
      const before = shown()
      const step = steps.find(([sign]) => sign.test(before))
      if (step === undefined && isAsked) break
      if (step === undefined) terminal.type(`${request}\r`)
      isAsked ||= step === undefined
      step?.[1](terminal)
      await expect.poll(shown, { timeout: 30_000 }).not.toBe(before)
    }
    await terminal.until(/Your trip to Barcelona is planned[\s\S]*you › *$/m, { withinMs: 30_000 })
    const { stdout } = await quietly('inbox', '--all', '--json', '--store', join(home, '.jackfield/host.db'))
    const questions: { kind: string; question: { tool?: { tool: { name: string } } } }[] =
      JSON.parse(stdout).questions
    const names = questions.map(({ kind, question }) => question.tool?.tool.name ?? kind).toSorted()
    expect(names).toEqual(['bookVacation', 'createCalendarEvent', 'elicitation', 'elicitation', 'roots'])
    expect(terminal.history().replace(/\s+/g, ' ')).toContain('the built-in planner (offline) gave it')
    const sample = join(home, '.jackfield/sample')
    const files = readdirSync(sample).filter((name) => name.startsWith('barcelona'))
    expect(files).toHaveLength(1)
    expect(readFileSync(join(sample, files[0] ?? ''), 'utf8')).toContain('Barcelona')
  }, 120_000)

  test('offers the page once, which then shows the conversation', async () => {
    const { terminal: open } = person()
    const terminal = open(['start', '--model', 'offline', '--no-open'])
    await terminal.until(/◆ {2}Where do you want to plan the trip\?/)
    terminal.type('b')
    await terminal.until(/http:\/\/127\.0\.0\.1:\d+\/chat\/\S+#k=/, { withinMs: 30_000 })
    await terminal.until(/Ctrl\+C ends it/)
    expect(terminal.history().match(/Where do you want/g)).toHaveLength(1)
  }, 60_000)
})
