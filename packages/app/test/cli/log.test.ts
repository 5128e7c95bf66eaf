import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { begin, jsonFile, run, tempFolder, travel } from './jackfield.ts'

const folder = tempFolder()
const store = join(folder, 'log.db')
const [command = '', ...args] = travel(join(folder, 'travel.db'))
const config = jsonFile({ mcpServers: { travel: { command, args } } })
const use = ['--config', config, '--store', store]
const search = ['searchFlights', 'origin=NYC', 'destination=Barcelona', 'date=2026-06-15']

const log = async (...words: string[]) => {
  const { code, stdout, stderr } = await run(['log', '--store', store, ...words])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return stdout
}

beforeAll(async () => {
  expect((await run(['call', ...use, 'travel', ...search])).code).toBe(0)
  expect((await run(['call', ...use, 'travel', 'searchFlights', '--args', '{"origin":1}'])).code).toBe(1)
})

test('an empty log prints advice', async () => {
  const { code, stdout } = await run(['log', '--store', join(folder, 'none.db')])
  expect([code, stdout]).toEqual([0, expect.stringContaining('The log is empty. Call something first')])
})

test('the log lists what happened, newest last, and is filtered', { timeout: 120_000 }, async () => {
  const all = await log()
  expect(all).toMatch(/^ID +TIME +KIND +SERVER +STATUS +TOOK +WHAT\n/)
  expect(all).toMatch(/\d+ +[\d:.]+ +call +travel +✓ ok +\d+ ms +searchFlights of travel\n/)
  expect(all).toMatch(/wire +travel +→ tools\/call searchFlights\n/)
  expect(all).toMatch(/\n\d+ events\n$/)
  const calls = await log('kind:call', 'status:ok')
  expect(calls.trimEnd().split('\n')).toHaveLength(3)
  expect(await log('-kind:wire,http', '--json')).not.toContain('"wire"')
  expect(await log('text:no such thing')).toBe(
    'Nothing in the log matches text:"no such thing". Remove conditions to see more.\n',
  )
})

test('an invalid filter is reported with its position', async () => {
  const { code, stderr } = await run(['log', '--store', store, 'kind:call', 'kind:cal'])
  expect(code).toBe(2)
  expect(stderr).toContain('There is no kind "cal".')
  expect(stderr.endsWith(`  kind:call kind:cal\n  ${' '.repeat(15)}^\n`)).toBe(true)
  const two = await run(['log', '--store', store, '--tree', '--raw'])
  expect([two.code, two.stderr]).toEqual([2, expect.stringContaining('Give one of')])
})

test('events are shown under their causes, side by side, whole, and counted', {
  timeout: 120_000,
}, async () => {
  expect(await log('--tree', 'kind:call', 'status:ok')).toMatch(
    /^\d+ call searchFlights of travel {2}✓ ok \d+ ms\n└─ \d+ wire → tools\/call searchFlights\n {3}└─ \d+ wire ← tools\/call: complete {2}✓ ok .* ms\n$/,
  )
  const raw = await log('--raw', 'method:tools/call', 'direction:sent', '"Barcelona"')
  expect(raw).toMatch(/^── \d+ {2}[\d:.]+ {2}→ travel {2}id \d+/)
  expect(raw).toContain('"destination": "Barcelona"')
  expect(raw).toContain('← travel')
  expect(await log('--timeline')).toMatch(/UTC, .* across\ntravel\n/)
  expect(await log('--stats')).toMatch(/tools\/call +travel +2 +\d|tools\/call +travel +2 +–/)
  const { events } = JSON.parse(await log('--json', 'kind:call'))
  const whole = await log(String(events[0].id))
  expect(whole).toMatch(/^\d+ {2}searchFlights of travel\n +time .* UTC\n +kind +call\n/)
  expect(await log(`#${events[0].activity}`)).toBe(whole)
  const none = await run(['log', '--store', store, '99999'])
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('There is no 99999 in the log')])
})

test('the log is followed while other programs write it', async () => {
  const following = begin(['log', '--store', store, '--follow', '--json', 'kind:read'])
  await run(['read', ...use, 'travel', 'travel://bookings'])
  await following.waitForOutput('"kind":"read"')
  following.child.kill('SIGINT')
  const { stdout } = await following.ended
  expect(JSON.parse(stdout.trim().split('\n')[0] ?? '')).toMatchObject({ kind: 'read', server: 'travel' })
})

test('a call is replayed, changed, saved as a test and run again', { timeout: 120_000 }, async () => {
  const { events } = JSON.parse(await log('--json', 'kind:call', 'status:ok', 'tool:searchFlights'))
  const id = String(events[0].id)
  const same = await run(['replay', ...use, id])
  expect([same.code, same.stdout]).toEqual([0, expect.stringContaining('✓ The same result as before.')])
  const other = await run(['replay', ...use, id, 'destination=Oslo'])
  expect([other.code, other.stdout]).toEqual([
    1,
    expect.stringMatching(/✗ The result differs from the previous one in \d+ place/),
  ])
  const file = join(folder, 'flights.json')
  const saved = await run(['replay', ...use, id, '--save', file])
  expect([saved.code, saved.stderr]).toEqual([0, `Saved. Run it again with: jackfield replay ${file}\n`])
  expect((await run(['replay', ...use, file])).code).toBe(0)
  const test = JSON.parse(readFileSync(file, 'utf8'))
  test.result.content = [{ type: 'text', text: 'nothing like it' }]
  writeFileSync(file, JSON.stringify(test))
  const failed = await run(['replay', ...use, '--json', file])
  expect(failed.code).toBe(1)
  expect(JSON.parse(failed.stdout).changes[0].path).toMatch(/^\/content/)
  const wrong = await run(['replay', ...use, '1'])
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('is not a call, read or prompt')])
})

test('a recording is served instead of its server, and two recordings are compared', {
  timeout: 120_000,
}, async () => {
  const [one, two] = [join(folder, 'one.json'), join(folder, 'two.json')]
  const made = await run(['record', one, '--store', store, 'server:travel'])
  expect([made.code, made.stdout]).toEqual([
    0,
    expect.stringMatching(/^travel: \d+ requests, 2026-07-28\nWritten to/),
  ])
  const live = await run(['call', ...use, '--json', 'travel', ...search])
  const bin = builtProgram('jackfield')
  const play = ['--', process.execPath, bin, 'serve-recording', one]
  const again = join(folder, 'again.db')
  const played = await run(['call', '--store', again, '--json', ...search, ...play])
  expect([played.code, played.stdout]).toEqual([0, live.stdout])
  const unknown = await run([
    'call',
    '--store',
    again,
    'searchFlights',
    ...search.slice(1, 3),
    'date=2026-06-16',
    ...play,
  ])
  expect(unknown.code).toBe(4)
  expect(unknown.stderr).toContain('it differs at /arguments/date: "2026-06-15" there, "2026-06-16" here')

  expect((await run(['record', two, '--store', store, 'server:travel'])).code).toBe(0)
  const diff = await run(['log', 'diff', one, one])
  expect([diff.code, diff.stdout]).toEqual([0, '✓ Both have the same requests with the same results.\n'])
  const more = await run(['log', 'diff', one, two])
  expect([more.code, more.stdout]).toEqual([1, expect.stringContaining(`only in ${two}`)])
  const none = await run(['record', two, '--store', store, 'server:nobody'])
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('No message of a server matches')])
})

test('the log is exported in other formats', async () => {
  const { stdout } = await run(['log', 'export', 'jsonl', '--store', store, 'kind:call'])
  for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ kind: 'call' })
  const file = join(folder, 'traces.json')
  writeFileSync(file, 'what was there before, and longer than nothing', { mode: 0o666 })
  chmodSync(file, 0o666)
  const written = await run(['log', 'export', 'otlp', '--store', store, '--output', file])
  expect([written.code, written.stderr]).toEqual([0, `Written to ${file}\n`])
  expect(JSON.parse(readFileSync(file, 'utf8')).resourceSpans).toHaveLength(1)
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
  const nowhere = join(folder, 'nowhere', 'traces.json')
  const unwritten = await run(['log', 'export', 'otlp', '--store', store, '--output', nowhere])
  expect(unwritten).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${nowhere} cannot be written`),
  })
  const wrong = await run(['log', 'export', 'xml', '--store', store])
  expect([wrong.code, wrong.stderr]).toEqual([2, '"xml" is not a format. Formats are jsonl, har, otlp.\n'])
})
