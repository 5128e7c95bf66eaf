import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { everything, jsonFile, recorded, run, tempFolder, travel } from './jackfield.ts'

describe.concurrent('configured servers', () => {
  function folder(config: unknown, name = '.mcp.json'): string {
    const cwd = tempFolder()
    writeFileSync(join(cwd, name), JSON.stringify(config))
    return cwd
  }
  const [command, ...args] = everything
  const mcpServers = { demo: { command, args } }
  const agreed = '--start-what-this-folder-names'

  test.each(['.mcp.json', 'jackfield.json'])('are found in %s', async (name) => {
    const { code, stdout } = await run(['call', 'demo', 'echo', 'message=hi', agreed], {
      cwd: folder({ mcpServers }, name),
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Echo: hi\n' })
  })

  test('are found in the file that --config names', async () => {
    const file = jsonFile({ mcpServers })
    expect(await run(['call', 'demo', 'echo', 'message=hi', '--config', file])).toMatchObject({ code: 0 })
  })

  test('that are unknown are reported with the known ones', async () => {
    const cwd = folder({ mcpServers })
    expect(await run(['tools', 'nope'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('It names: demo.'),
    })
  })

  test('follow the rules of the configuration: a denied tool is not called', async () => {
    const cwd = folder({
      mcpServers,
      jackfield: { rules: [{ id: 'no sums', verdict: 'deny', tool: 'get-s*' }] },
    })
    const store = ['--store', 'log.db']
    const start = [...store, agreed]
    const denied = await run(['call', 'demo', 'get-sum', 'a=1', 'b=2', ...start], { cwd })
    expect(denied).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('rule "no sums" forbids it ('),
    })
    expect(await run(['call', 'demo', 'echo', 'message=hi', ...start], { cwd })).toMatchObject({ code: 0 })
    const { rows } = await recorded(['--server', 'demo', ...store], cwd)
    expect(rows.filter((row) => row.kind === 'call')).toMatchObject([
      { outcome: 'denied', detail: { decision: { verdict: 'deny', rule: 'no sums' } } },
      { outcome: 'ok', detail: { decision: { verdict: 'allow', rule: 'typed' }, caller: 'cli' } },
    ])
  })

  test('get the same verdict on the command line as in a conversation', async () => {
    const [program, ...words] = travel()
    const cwd = folder({
      mcpServers: { travel: { command: program, args: words } },
      jackfield: { rules: [{ id: 'no flights', verdict: 'deny', tool: 'searchFlights' }] },
    })
    const flight = ['origin=New York', 'destination=Barcelona', 'date=2027-06-15']
    const store = ['--store', 'log.db']
    const typed = await run(['call', 'travel', 'searchFlights', ...flight, ...store, agreed], { cwd })
    expect(typed).toMatchObject({ code: 1, stderr: expect.stringContaining('"no flights"') })
    const talk = await run(['chat', '--model', 'offline', ...store, agreed], {
      cwd,
      stdin: 'Plan a trip from New York to Barcelona on 2027-06-15 for 7 days\n',
    })
    expect(talk.stderr).toContain('rule "no flights" forbids it')
    const { rows } = await recorded(store, cwd)
    const flights = rows.filter((row) => row.detail.tool === 'searchFlights')
    expect(flights.map(({ outcome, detail }) => [detail.caller, outcome, detail.decision])).toMatchObject([
      ['cli', 'denied', { verdict: 'deny', rule: 'no flights' }],
      ['chat', 'denied', { verdict: 'deny', rule: 'no flights' }],
    ])
  })

  test('are all listed with their state', async () => {
    const cwd = folder({ mcpServers: { ...mcpServers, broken: { command: 'no-such-program' } } })
    const { code, stdout } = await run(['servers', agreed], { cwd })
    expect(code).toBe(3)
    expect(stdout).toMatch(/demo +● ready +2025-11-25/)
    expect(stdout).toMatch(/broken +✗ failed/)
    const json = await run(['servers', '--json', agreed], { cwd })
    expect(JSON.parse(json.stdout).servers).toHaveLength(2)
  })

  test('are not complete if an entry is wrong: servers, doctor and config report it and exit with 2', async () => {
    const cwd = folder({ mcpServers: { ...mcpServers, wrong: { args: [] } } })
    for (const words of [['servers', agreed], ['doctor', agreed], ['config']]) {
      const { code, stdout, stderr } = await run(words, { cwd })
      expect({ words, code }).toEqual({ words, code: 2 })
      expect(stdout).toContain('demo')
      expect(stdout + stderr).toContain('mcpServers.wrong needs "command"')
      expect(stdout).not.toContain('No problems found.')
    }
    const named = await run(['doctor', 'demo', agreed], { cwd })
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining('No problems found.') })
  })
})

describe.concurrent('activity', () => {
  test("is a table in the user's data folder", async () => {
    const data = tempFolder()
    const env = { XDG_DATA_HOME: data }
    const empty = await run(['activity'], { env })
    expect(empty).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing is recorded') })
    expect(existsSync(join(data, 'jackfield'))).toBe(false)
    const server = ['--', ...travel()]
    await run(['read', 'calendar://events/2027', ...server], { env })
    await run(['call', 'searchFlights', 'origin=Oslo', 'destination=Rome', 'date=2027-06-15', ...server], {
      env,
    })
    const { stdout } = await run(['activity', '--limit', '3'], { env })
    expect(stdout).toMatch(/^\/.*activity\.db\nROW +TIME +KIND +OUTCOME +RULE +TOOK +WHAT\n/)
    expect(stdout).toMatch(/#4 +\S+ \S+ +call +ok +typed +\d+ ms +searchFlights of /)
    expect(stdout).toMatch(/#2 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +read +ok +\d+ ms +calendar:/)
    expect(stdout).not.toContain('#1 ')
  })

  test('is required: if the store cannot be opened nothing starts, with one error', async () => {
    const folder = tempFolder()
    const { code, stdout, stderr } = await run(['tools', '--store', folder, '--', ...travel()])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^Cannot use \S+ as the store: .*--no-store\.\n$/)
    expect(await run(['activity', '--store', folder])).toMatchObject({ code: 2, stdout: '' })
  })
})
