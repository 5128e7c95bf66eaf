import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createHost } from '@jackfield/host'
import { expect, test } from 'vitest'
import { filesystem, jsonFile, run, tempFolder } from './jackfield.ts'

const folder = tempFolder()
mkdirSync(join(folder, 'data'))
writeFileSync(join(folder, 'data', 'a.txt'), 'hello there')
const [command = '', ...args] = filesystem(join(folder, 'data'))
const config = jsonFile({
  mcpServers: { files: { command, args } },
  jackfield: {
    rules: [
      {
        id: 'reading',
        verdict: 'allow',
        tool: 'read_*',
        arguments: [{ at: '/path', inside: [join(folder, 'data')] }],
      },
      { verdict: 'deny', server: 'files', tool: 'write_*' },
      { id: 'look first', verdict: 'ask', gate: 'result', tool: 'list_*' },
    ],
  },
})
const store = join(folder, 'log.db')
const file = join(folder, 'data', 'a.txt')
const use = ['--config', config, '--store', store]

test('the rules are shown with their sources', async () => {
  const { code, stdout } = await run(['policy', '--config', config])
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^RULE +VERDICT +AUTHOR +ABOUT\nreading +✓ allow +\S+, jackfield\.rules\[0\] +read_\*, where \/path is inside \S+data\n/,
  )
  expect(stdout).toMatch(/jackfield\.rules\[1\] +✗ deny +.* +write_\* of files\n/)
  expect(stdout).toMatch(/look first +\? ask +.* +results of list_\*\n/)
  expect(stdout).toContain('3 rules; deny before ask before allow. Calls that match no rule: ? ask.')
  const bare = await run(['policy', '--config', jsonFile({ mcpServers: {} })])
  expect(bare.stdout).toContain('There are no rules.')
  const [, advice = ''] = /\n {2}("jackfield": .*)/.exec(bare.stdout) ?? []
  const written = await run(['policy', '--config', jsonFile(JSON.parse(`{ "mcpServers": {}, ${advice} }`))])
  expect(written).toMatchObject({ stdout: expect.stringContaining('✓ allow'), stderr: '' })
})

test('a rule of the working folder that allows calls is reported as one without effect', async () => {
  const cwd = tempFolder()
  const rules = [{ verdict: 'allow', tool: 'read_*' }]
  writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: {}, jackfield: { rules } }))
  const { stdout, stderr } = await run(['policy'], { cwd })
  expect(stdout).toContain('There are no rules.')
  expect(stderr).toMatch(
    /jackfield\.rules a rule that allows calls in a file of the working folder has no effect/,
  )
})

test('a decision is explained, and nothing is called', async () => {
  const explain = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(['policy', 'explain', ...use, '--json', ...words])
    expect(stderr).toBe('')
    expect(code).toBe(0)
    return JSON.parse(stdout)
  }
  expect(await explain('files', 'read_text_file', `path=${file}`)).toMatchObject({
    caller: 'chat',
    decision: { verdict: 'allow', rule: 'reading', author: expect.stringContaining('jackfield.rules[0]') },
    matched: [{ id: 'reading' }],
  })
  const outside = `path=${join(folder, 'data')}/../log.db`
  expect((await explain('files', 'read_text_file', outside)).decision).toMatchObject({
    verdict: 'ask',
    rule: 'default',
    author: 'Jackfield',
  })
  const text = await run(['policy', 'explain', ...use, 'files', 'write_file', 'path=x', '--caller', 'code'])
  expect(text.stdout).toMatch(
    /^write_file of files, called by code\n +verdict +✗ deny\n +by rule +jackfield\.rules\[1\]\n/,
  )
  const listing = await run(['policy', 'explain', ...use, 'files', 'list_directory', `path=${folder}`])
  expect(listing.stdout).toMatch(/result +\? ask by rule look first/)
  const { code, stderr } = await run(['policy', 'explain', ...use, 'files'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('Which tool?')])
})

test('a rule is tested on past calls before it is added', async () => {
  const preview = (rule: string, ...more: string[]) =>
    run(['policy', 'preview', '--store', store, ...more, rule])
  expect((await run(['call', ...use, 'files', 'read_text_file', `path=${file}`])).code).toBe(0)
  const denied = await run(['call', ...use, 'files', 'write_file', `path=${file}`, 'content=x'])
  expect([denied.code, denied.stderr]).toEqual([1, expect.stringContaining('was not called')])

  const rule = { verdict: 'deny', arguments: [{ at: '/path', inside: [join(folder, 'data')] }] }
  const { stdout } = await preview(JSON.stringify(rule))
  expect(stdout).toMatch(/cli +✓ allow +reading +ok +✗ deny +read_text_file of files\n/)
  expect(stdout).toMatch(/cli +✗ deny +jackfield\.rules\[1\] +denied +✗ deny +write_file of files\n/)
  expect(stdout).toContain('It would have matched 2 of 2 calls of the last 30 days.')
  const none = await preview('{"verdict":"deny","caller":["chat"]}', '--json')
  expect(JSON.parse(none.stdout)).toMatchObject({ considered: 2, matched: [], uncertain: 0 })
  const wrong = await preview('{"verdict":"dny"}')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('rule.verdict must be')])
  expect((await preview('{"verdict"')).stderr).toContain('not valid JSON')
})

test('grants are listed, and revoked by an id prefix', async () => {
  const answers = join(folder, 'answers.db')
  await using host = createHost({
    servers: { files: { command, args } },
    surface: {
      name: 'test',
      show: {
        approval: async ({ likeness }) => {
          const folders = likeness.find(({ label }) => label.startsWith('paths inside'))?.arguments
          return { verdict: 'allow', remember: { scope: 'always', ...(folders && { arguments: folders }) } }
        },
      },
    },
    models: [],
    store: answers,
  })
  await host.start()
  await host.call('files__read_text_file', { path: file }, { caller: 'chat' })
  const [grant] = host.policy.grants()
  const listed = await run(['policy', 'grants', '--store', answers])
  expect(listed.stdout).toMatch(
    /\n\w{12} +✓ allow +always +just now +read_text_file of files, where \/path is inside \S+data\n1 decision; /,
  )
  const gone = await run(['policy', 'revoke', '--store', answers, grant?.id.slice(0, 6) ?? ''])
  expect(gone.stdout).toMatch(/^Forgotten: ✓ allow read_text_file of files/)
  expect(host.policy.grants()).toEqual([])
  const again = await run(['policy', 'revoke', '--store', answers, grant?.id ?? ''])
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('jackfield policy grants lists them'),
  ])
  expect((await run(['policy', 'grants', '--store', answers])).stdout).toContain(
    'No decisions are remembered.',
  )
})

test('the activity log can be verified and pruned, and alterations are detected', async () => {
  const log = join(folder, 'chain.db')
  await run(['call', '--config', config, '--store', log, 'files', 'read_text_file', `path=${file}`])
  const verify = (...more: string[]) => run(['activity', 'verify', '--store', log, ...more])
  const sound = await verify()
  expect(sound.code).toBe(0)
  expect(sound.stdout).toContain('✓ 4 entries are unchanged.')
  const [, head = ''] = /last entry is 4, with the hash ([0-9a-f]{64})/.exec(sound.stdout) ?? []
  expect((await verify('--head', head)).code).toBe(0)
  expect(await verify('--head', 'f'.repeat(64))).toMatchObject({ code: 1 })
  expect(await verify('--head', 'x')).toMatchObject({ code: 2 })

  const pruned = await run(['activity', 'prune', '--store', log, '--before', '2099-01-01', '--json'])
  expect(JSON.parse(pruned.stdout)).toMatchObject({ rows: 2, head: { position: 5 } })
  expect((await verify('--head', head)).stdout).toMatch(/Pruned up to entry 4 \(2 rows before 2099-01-01\)/)
  const never = await run(['activity', 'prune', '--store', log, '--before', 'never'])
  expect([never.code, never.stderr]).toEqual([2, expect.stringContaining('such as 2027-01-31')])

  await run(['call', '--config', config, '--store', log, 'files', 'read_text_file', `path=${file}`])
  const raw = new DatabaseSync(log)
  raw.exec("DROP TRIGGER activity_kept; UPDATE activity SET detail = replace(detail, 'a.txt', 'b.txt')")
  raw.close()
  const changed = await verify()
  expect(changed.code).toBe(1)
  expect(changed.stdout).toMatch(
    /✗ The log was changed: 1 fault in 5 entries\.\n +entry \d: Row \d+, or an entry before it, was changed/,
  )
  expect((await run(['activity', 'verify', '--store', join(folder, 'none.db')])).stderr).toContain(
    'no activity log',
  )
})
