import { describe, expect, test } from 'vitest'
import { choose } from '../../../../scripts/terminal/choose.ts'
import { registry, weather } from '../../../host/test/registry/stand-in.ts'
import { travel } from '../cli/jackfield.ts'
import { missing, person, shellWords } from './person.ts'

const config = '.config/jackfield/config.json'
const command = 'npx -y @ann/weather@1.4.0 --units metric'

/** A person whose launcher of packages notes its words and the variables, and starts a real server. */
function withLauncher() {
  const ann = person()
  ann.program('npx', `echo "$REGION $WEATHER_TOKEN" >> "$HOME/given"\nexec ${shellWords(travel())}`)
  return ann
}

describe.skipIf(missing !== undefined)('installing in a terminal', { timeout: 60_000 }, () => {
  test('shows the exact command, starts nothing before consent, and then asks for the values', async () => {
    const { url } = await registry([weather])
    const ann = withLauncher()
    const terminal = ann.terminal(['install', 'io.github.ann/weather', '--registry', url])
    await terminal.until('Install it and start it?')
    const shown = terminal.history()
    expect(shown).toMatch(new RegExp(`would run on this machine, as you:\\s+│\\s+${command}\n`))
    for (const fact of ['io.github.ann', command, 'WEATHER_TOKEN', 'REGION', config]) {
      expect({ fact, times: shown.split(fact).length - 1 }).toEqual({ fact, times: 1 })
    }
    expect(shown).toContain('WEATHER_TOKEN (secret)')
    expect(shown).not.toContain('Later')
    expect({ noted: ann.noted(), written: ann.has(config) }).toEqual({ noted: '', written: false })

    await choose(terminal, 'Yes')
    await terminal.until('weather needs Your token')
    expect(ann.noted()).toBe('')
    terminal.type('hush-hush-token\r')
    await terminal.until('weather needs REGION')
    await choose(terminal, 'eu')
    await terminal.until('It runs, and has')
    expect(terminal.history()).not.toContain('hush-hush-token')
    expect(await terminal.exited).toBe(0)
    expect(ann.noted()).toBe('-y @ann/weather@1.4.0 --units metric')
    expect(ann.read('given')).toBe('eu hush-hush-token\n')
    expect(ann.read(config)).not.toContain('hush-hush-token')
  })

  test('installs and starts nothing if the user presses Enter at the question, or Esc', async () => {
    const { url } = await registry([weather])
    const ann = withLauncher()
    for (const key of ['enter', 'escape'] as const) {
      const terminal = ann.terminal(['install', 'io.github.ann/weather', '--registry', url])
      await terminal.until('Install it and start it?')
      terminal.press(key)
      await terminal.until('Nothing was installed.')
      expect(await terminal.exited).toBe(1)
    }
    expect({ noted: ann.noted(), written: ann.has(config) }).toEqual({ noted: '', written: false })
  })

  test('installs nothing and stores no secret if the user presses Esc at a value', async () => {
    const { url } = await registry([weather])
    const ann = withLauncher()
    const terminal = ann.terminal(['install', 'io.github.ann/weather', '--registry', url])
    await terminal.until('Install it and start it?')
    // The user consents in another window.
    const { stdout: listed } = await ann.quietly('inbox', '--json')
    const [question] = JSON.parse(listed).questions
    expect(question).toMatchObject({
      kind: 'installation',
      server: 'weather',
      what: `Install it? ${command}`,
    })
    expect(await ann.quietly('respond', question.id, '--allow')).toMatchObject({ code: 0 })
    await terminal.until('Answered by jackfield respond.')
    await terminal.until('weather needs Your token')
    terminal.type('hush-hush-token\r')
    await terminal.until('weather needs REGION')
    terminal.press('escape')
    await terminal.until('Nothing was installed.')
    expect(await terminal.exited).toBe(1)
    expect({ noted: ann.noted(), written: ann.has(config) }).toEqual({ noted: '', written: false })
    const { stdout } = await ann.quietly('secret', 'list', '--json')
    expect(JSON.parse(stdout).names).toEqual([])
  })

  test('starts a configuration pasted into a folder only after consent to its whole command line', async () => {
    const ann = withLauncher()
    const pasted = { command: 'npx', args: ['-y', '@ann/weather'], env: { WEATHER_TOKEN: 'sunshine' } }
    ann.write('.mcp.json', { mcpServers: { weather: pasted } })
    const refused = ann.terminal(['tools', 'weather'])
    await refused.until('Start it for the first time?')
    const shown = refused.history()
    expect(shown).toContain('.mcp.json')
    expect(shown).toMatch(/as you:\s+│\s+npx -y @ann\/weather\n/)
    expect(shown).toMatch(/the program is \S+\/npx\n/)
    expect(shown).toContain('WEATHER_TOKEN=[WEATHER_TOKEN]')
    expect(shown).toContain('has no exact version')
    expect(shown).not.toContain('sunshine')
    refused.press('enter')
    expect(await refused.exited).not.toBe(0)
    expect(ann.noted()).toBe('')

    const agreed = ann.terminal(['tools', 'weather'])
    await choose(agreed, 'Yes')
    await agreed.until('searchFlights')
    expect(ann.noted()).toBe('-y @ann/weather')
    expect(ann.read('given')).toBe(' sunshine\n')
  })
})
