import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createHost } from '@jackfield/host'
import { serveHttp } from '@jackfield/sdk/http'
import { createTravelServer } from '@jackfield/server-travel'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { begin, everything, jsonFile, run, tempFolder, travel } from '../cli/jackfield.ts'
import { serveEverything } from '../cli/served-everything.ts'

let shared: { url: string; close(): Promise<void> }

const demo = await serveEverything(afterAll)
beforeAll(async () => {
  shared = await serveHttp(createTravelServer({ database: ':memory:' }), { keys: ['k'.repeat(32)] }).listen()
})
afterAll(() => shared.close())

/** A configuration of these servers, or of both. The tests share them. */
function config(more: Record<string, unknown> = {}, only?: 'travel' | 'demo'): string {
  const mcpServers = {
    ...(only !== 'demo' && { travel: { url: shared.url } }),
    ...(only !== 'travel' && { demo: { url: demo } }),
  }
  return jsonFile({ mcpServers, ...more })
}

function input(...lines: string[]): { stdin: string } {
  return { stdin: `${lines.join('\n')}\n` }
}

describe('a conversation from a pipe', () => {
  test('plans and books a trip with answers from a file, and logs every call', async () => {
    const folder = tempFolder()
    const answers = jsonFile({
      approvals: [{ verdict: 'allow' }],
      roots: 'allow',
      sampling: [{ model: 'offline' }],
      elicitation: [
        { match: '/confirm/i', action: 'accept', content: { confirmBooking: true, roomType: 'sea view' } },
        { match: '/Who travels/', action: 'accept', content: {} },
      ],
    })
    const { code, stdout, stderr } = await run(
      ['chat', '--config', config(), '--answers', answers, '--root', folder],
      input(
        'Plan a trip from New York to Barcelona on 2027-06-15 for 7 days, budget $3000',
        '/activity 40',
        '/quit',
      ),
    )
    expect(code).toBe(0)
    expect(stderr).toContain('No language model is configured, so the offline planner answers')
    expect(stderr).toContain('] travel__bookVacation {"destination":"Barcelona"')
    expect(stderr).toContain('✓ Booked: Barcelona from 2027-06-15 to 2027-06-22')
    expect(stdout).toMatch(/#\d+ +\S+ +call +ok +\d+ ms +bookVacation of travel/)
    expect(stdout).toMatch(/elicitation +accepted/)
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/\.md$/)])
  })

  test('books the best flight for a plain sentence, once the missing data was given', async () => {
    const folder = tempFolder()
    const answers = jsonFile({
      approvals: [{ verdict: 'allow' }],
      roots: 'allow',
      sampling: [{ model: 'offline' }],
      elicitation: [
        { match: '/confirm/i', action: 'accept', content: { confirmBooking: true } },
        { match: '/Who travels/', action: 'accept', content: { travelerNames: 'Ada Lovelace' } },
      ],
    })
    const { code, stdout, stderr } = await run(
      ['chat', '--config', config(), '--answers', answers, '--root', folder],
      input('Book me the best flight to Barcelona next month', 'from New York for 7 days', '/quit'),
    )
    expect(code).toBe(0)
    expect(stdout).toContain('Please tell me where you leave from, and for how many days')
    expect(stderr).toMatch(
      /travel__findBestFlight \{"origin":"New York","destination":"Barcelona","date":"\d{4}-\d\d-\d\d"/,
    )
    expect(stderr).toMatch(/✓ Booked: Barcelona from \d{4}-\d\d-\d\d/)
    const [file = ''] = readdirSync(folder)
    expect(readFileSync(join(folder, file), 'utf8')).toContain('for Ada Lovelace')
    expect(stdout + stderr).not.toContain('Ada Lovelace')
  })

  test('denies calls that need approval when no user is there, and the planner says so', async () => {
    const { stdout, stderr } = await run(
      ['chat', '--config', config({}, 'travel')],
      input('Plan a trip from New York to Barcelona on 2027-06-15 for 7 days'),
    )
    expect(stderr).toContain('✗ denied searchFlights of travel was not called: no person can be asked here')
    expect(stdout).toContain('The flight search failed')
  })

  test('has commands that show state', async () => {
    const [command, ...args] = everything
    const { code, stdout, stderr } = await run(
      ['chat', '--config', config({ mcpServers: { travel: { url: shared.url }, demo: { command, args } } })],
      input(
        '/servers',
        '/tools flight',
        '/prompts',
        '/resources calendar',
        '/model',
        '/help',
        '/nonsense',
        '/attach travel calendar://events/2027',
        '/quit',
        'never said',
      ),
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/travel +● ready +just now +2026-07-28 +7/)
    expect(stdout).toMatch(/demo +● ready +just now +2025-11-25/)
    expect(stdout).toContain('travel__searchFlights')
    expect(stdout).toContain('/travel.plan-vacation')
    expect(stdout).toContain('calendar://events/{year}')
    expect(stdout).toContain('▸ offline')
    expect(stderr).toContain('There is no command /nonsense')
    expect(stdout).toContain('it is sent with your message.')
    expect(stdout + stderr).not.toContain('never said')
  })

  test('calls a tool and uses a prompt, asking for missing arguments', async () => {
    const { stdout, stderr } = await run(
      ['chat', '--config', config({ jackfield: { defaultVerdict: 'allow' } }, 'demo')],
      input(
        '/call demo__get-sum a=2 b=3',
        '/call demo__get-sum a=x',
        '/demo.args-prompt',
        'Oslo',
        'n',
        '/activity 3',
      ),
    )
    expect(stdout).toContain('The sum of 2 and 3 is 5.')
    expect(stderr).toContain('a must be a number')
    expect(stdout).toContain("user: What's weather in Oslo?")
    expect(stdout).toContain('Not sent.')
  })
})

describe('one message', () => {
  const echo = { name: 'demo__echo', arguments: { message: 'x' } }
  const allow = { jackfield: { rules: [{ id: 'echo', verdict: 'allow', tool: 'echo' }] } }
  const model = (...turns: object[]): string[] => ['--model', script(...turns)]

  test('on the command line is answered, with the answer alone on stdout', async () => {
    const turns = model({ say: 'I look.', call: [echo] }, { say: 'Hi there.' })
    for (const words of [['say hi'], ['say', 'hi'], ['-p', 'say hi'], ['--print', 'say hi']]) {
      const { code, stdout, stderr } = await run([
        'chat',
        ...words,
        '--config',
        config(allow, 'demo'),
        ...turns,
      ])
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hi there.\n' })
      expect(stderr).toMatch(/I look\.[\s\S]*→ \[1\] demo__echo[\s\S]*✓ Echo: x/)
      expect(stderr).not.toContain('servers are connected')
    }
  })

  test('can ignore stdin, and with --print adds stdin to the message', async () => {
    const store = join(tempFolder(), 'log.db')
    const args = ['--config', config({}, 'travel'), '--store', store, ...model({ say: 'Short.' })]
    const open = begin(['chat', 'Summarize', ...args], { stdinStaysOpen: true })
    expect((await open.ended).stdout).toBe('Short.\n')
    const words = '/quit\n@travel:calendar://events/2027\n'
    const piped = await run(['chat', '-p', 'Summarize this', ...args], { stdin: words })
    expect(piped).toEqual({ code: 0, stdout: 'Short.\n', stderr: '' })
    const alone = await run(['chat', '-p', ...args], { stdin: words })
    expect(alone).toEqual({ code: 0, stdout: 'Short.\n', stderr: '' })
    await using host = createHost({ servers: {}, models: [], store })
    const utterances = host.conversations
      .list({ limit: 2 })
      .map(({ id }) =>
        host.conversations
          .entries(id)
          .flatMap((entry) =>
            entry.kind === 'message' && entry.by === 'person' ? [entry.message.content] : [],
          ),
      )
    expect(utterances).toEqual([
      [{ type: 'text', text: words }],
      [
        { type: 'text', text: 'Summarize this' },
        { type: 'text', text: words },
      ],
    ])
  })

  test('with --json gives events', async () => {
    const { code, stdout } = await run([
      'chat',
      'say hi',
      '--json',
      '--config',
      config({}, 'demo'),
      ...model({ say: 'Hi.' }),
    ])
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.map(({ type }) => type)).toEqual(['text', 'turn'])
    expect(code).toBe(0)
  })

  test('continues without a call that needs approval, and stderr says how to allow it', async () => {
    const turns = model({ call: [echo] }, { say: 'I may not.' })
    const { code, stdout, stderr } = await run([
      'chat',
      '-p',
      'echo',
      '--config',
      config({}, 'demo'),
      ...turns,
    ])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'I may not.\n' })
    expect(stderr).toContain('To allow it, add a rule with the verdict "allow"')
    expect(stderr).toContain('--answers <file>')
  })

  test('ends with exit code 1 when the turn reaches a limit, and 2 without a message', async () => {
    const cut = model({ call: [echo, echo] })
    const args = ['--config', config(allow, 'demo'), '--max-calls', '1']
    expect((await run(['chat', 'echo', ...args, ...cut])).code).toBe(1)
    const none = await run(['chat', '-p', '--config', config({}, 'demo'), ...model({ say: 'Hi.' })])
    expect(none.code).toBe(2)
    expect(none.stderr).toContain('There is no message. Give it as in: jackfield chat --print "say hi"')
  })
})

test('in a pipe, prints only the answers on stdout', async () => {
  const { code, stdout, stderr } = await run(
    ['chat', '--config', config(), '--model', script({ say: 'Hello.' })],
    input('hi'),
  )
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello.\n' })
  expect(stderr).toMatch(/^Jackfield {2}script[\s\S]*2 of 2 servers are connected[\s\S]*you › hi\n/)
})

function script(...turns: object[]): string {
  return `script:${jsonFile({ turns })}`
}

describe('a model that requests too many calls', () => {
  const calls = (count: number) => ({
    call: Array.from({ length: count }, (_, n) => ({ name: 'demo__echo', arguments: { message: `${n}` } })),
  })
  const rules = { jackfield: { rules: [{ id: 'echo', verdict: 'allow', tool: 'echo' }] } }

  test('is stopped with a notice, and a pipe ends with exit code 1', async () => {
    const { code, stderr } = await run(
      ['chat', '--config', config(rules, 'demo'), '--model', script(calls(60))],
      input('Echo all'),
    )
    expect(stderr.match(/→ \[\d+\] demo__echo/g)).toHaveLength(50)
    expect(stderr).toContain('10 tool calls were not run. Say "go on" to continue.')
    expect(code).toBe(1)
  })

  test('can be continued by a message, with exit code 0 when the work completes', async () => {
    const { code, stdout, stderr } = await run(
      [
        'chat',
        '--config',
        config(rules, 'demo'),
        '--model',
        script(calls(60), calls(10), { say: 'All done.' }),
      ],
      input('Echo all', 'go on'),
    )
    expect(stderr.match(/→ \[\d+\] demo__echo/g)).toHaveLength(60)
    expect(stdout).toBe('All done.\n')
    expect(code).toBe(0)
  })

  test('is stopped at --max-calls, also within programs', async () => {
    const { code, stdout } = await run(
      ['chat', '--json', '--max-calls', '3', '--config', config(rules, 'demo'), '--model', script(calls(4))],
      input('Echo all'),
    )
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.filter(({ type }) => type === 'result')).toHaveLength(3)
    expect(events.find(({ type }) => type === 'turn')).toMatchObject({
      stopReason: 'maxCalls',
      callsNotRun: 1,
    })
    expect(code).toBe(1)
  })
})

describe('a stored conversation', () => {
  test('can be listed, renamed, resumed, forked and saved', async () => {
    const cwd = tempFolder()
    const store = join(cwd, 'log.db')
    const args = (model: string, ...more: string[]): string[] => [
      ...['chat', '--config', config({}, 'demo'), '--store', store, '--model', model, ...more],
    ]
    const first = await run(
      args(script({ say: 'To Oslo, then.' }, { say: 'By ship.' })),
      input('Where do I go?', 'And how?', '/title A trip by ship'),
    )
    expect(first.stdout).toBe('To Oslo, then.\nBy ship.\nA trip by ship\n')

    const again = await run(
      args(script({ say: 'By train instead.' }), '--resume'),
      input('/fork 1', 'How else?', '/resume', '/save trip.md', '/save trip.json', '/save trip.md'),
    )
    expect(again.stderr).toContain('A trip by ship')
    expect(again.stdout).toContain('To Oslo, then.')
    expect(again.stdout).toMatch(/\w{8} +just now +2 +script:file.json +▸ ⑂ Where do I go\?/)
    expect(again.stdout).toMatch(/\w{8} +just now +2 +script:file.json +A trip by ship/)
    expect(again.stderr).toContain('It was not saved: it exists already (EEXIST). Name another file.')
  })

  test('is found by words of its title, newest last, and shows its calls when resumed', async () => {
    const store = join(tempFolder(), 'log.db')
    const echo = { name: 'demo__echo', arguments: { message: 'x' } }
    const args = (...turns: object[]): string[] => [
      ...['chat', '--config', config({}, 'demo'), '--store', store, '--model', script(...turns)],
    ]
    await run(args({ say: 'Yes.' }, { say: 'No.' }), input('Sail to Oslo', '/new', 'Fly to Rome'))
    await run(args({ say: 'I echo.', call: [echo] }, { say: 'Done.' }), input('Echo to Oslo'))
    const { stdout, stderr } = await run(args(), input('/resume', '/resume oslo', '/resume zzz'))
    const [all = '', oslo = ''] = stdout.split(/(?<=has the words\.\n)/)
    expect(all).toMatch(/Sail to Oslo[\s\S]*Fly to Rome[\s\S]*Echo to Oslo[\s\S]*3 conversations\./)
    expect(oslo).toMatch(/Sail to Oslo[\s\S]*Echo to Oslo[\s\S]*2 conversations\./)
    expect(stderr).toContain('No conversation has the id or the title "zzz"')
    const resumed = await run([...args({ say: 'Hi.' }), '--resume'], input('hi'))
    expect(resumed.stderr).toContain('→ [1] demo__echo {"message":"x"}')
  })

  test('that does not exist is reported', async () => {
    const store = join(tempFolder(), 'log.db')
    for (const id of [['--resume'], ['--resume', 'nope']]) {
      const { code, stderr } = await run(
        ['chat', '--config', config({}, 'demo'), '--store', store, ...id],
        input('hi'),
      )
      expect(code).toBe(2)
      expect(stderr).toMatch(/No conversation is stored yet|no conversation "nope"/)
    }
  })
})

test('resources mentioned in a message are attached', async () => {
  const { stderr } = await run(
    ['chat', '--config', config({}, 'travel'), '--model', script({ say: 'I see.' })],
    input('What is in @travel:calendar://events/2027, please?', 'and @travel:calendar://nowhere?'),
  )
  expect(stderr).toMatch(/\+ Calendar 2027 +calendar:\/\/events\/2027 +about \d+ tokens/)
  expect(stderr).toMatch(/! calendar:\/\/nowhere is not attached: /)
})

test('a program can run a conversation, with events as JSON lines', async () => {
  const add = { name: 'demo__get-sum', arguments: { a: 2, b: 3 } }
  const usage = { inputTokens: 7, outputTokens: 3 }
  const { code, stdout, stderr } = await run(
    [
      ...['chat', '--json', '--config', config({ jackfield: { defaultVerdict: 'allow' } }, 'demo')],
      ...['--model', script({ say: 'I add.', call: [add], usage }, { say: 'Five.', usage })],
    ],
    input('What is 2 and 3?', '/nonsense'),
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type !== 'notice')
  const texts = events.filter(({ type }) => type === 'text').map(({ text }) => text)
  expect(texts.join('')).toBe('I add.Five.')
  expect(events.filter(({ type }) => type !== 'text')).toMatchObject([
    { type: 'call', name: 'demo__get-sum', arguments: { a: 2, b: 3 } },
    {
      type: 'result',
      outcome: 'ok',
      content: [{ text: 'The sum of 2 and 3 is 5.' }],
      durationMs: expect.any(Number),
    },
    {
      type: 'turn',
      stopReason: 'endTurn',
      text: 'Five.',
      rounds: 2,
      usage: { inputTokens: 14, outputTokens: 6 },
    },
    { type: 'error', message: expect.stringContaining('There is no command /nonsense') },
  ])
})

test('a lasting grant can be listed and revoked in a later conversation', async () => {
  const store = join(tempFolder(), 'log.db')
  const [command = '', ...args] = travel()
  await using host = createHost({
    servers: { travel: { command, args } },
    surface: {
      name: 'test',
      show: { approval: async () => ({ verdict: 'allow', remember: { scope: 'always' } }) },
    },
    models: [],
    store,
  })
  await host.start()
  const flight = { origin: 'Oslo', destination: 'Barcelona', date: '2027-06-15' }
  await host.call('travel__searchFlights', flight, { caller: 'chat' })
  const id = host.policy.grants()[0]?.id ?? ''
  const { stdout } = await run(
    ['chat', '--config', config({}, 'travel'), '--store', store],
    input('/remembered', `/remembered forget ${id}`, '/remembered'),
  )
  expect(stdout).toMatch(new RegExp(`${id} +allow +always +\\d{4}-\\d\\d-\\d\\d +searchFlights of travel`))
  expect(stdout).toContain('Forgotten.')
  expect(stdout).toContain('No decisions are remembered.')
  expect(host.policy.grants()).toEqual([])
})

test('an unavailable model is a usage error that names what is missing', async () => {
  const { code, stderr } = await run(
    ['chat', '--config', config({}, 'demo'), '--model', 'openai/x'],
    input('hi'),
  )
  expect(code).toBe(2)
  expect(stderr).toContain('needs OPENAI_API_KEY')
})

test('starting without a terminal plans a whole trip, checks its effects, and draws it', async () => {
  const cwd = tempFolder()
  const first = await run(['start', '--record', 'trip.svg'], {
    cwd,
    env: { ANTHROPIC_API_KEY: 'would-fail-if-used' },
  })
  expect(first.code).toBe(0)
  for (const words of [
    'travel      2026-07-28 (stateless)',
    'files       2025-11-25 (sessions)',
    '/travel.plan-vacation destination=Barcelona',
    'adds weather://forecast/Barcelona/',
    'asks the model of this host (findBestFlight)',
    'Seat: window · Room: sea view',
    '✓ travel://bookings holds the booking',
    '✓ the itinerary lies inside the root, and the file server reads the same text',
    '5. The activity log',
  ]) {
    expect(first.stdout).toContain(words)
  }
  expect(first.stdout).not.toContain('✗')
  expect(readdirSync(cwd)).toEqual(['trip.svg'])
  const again = await run(['start', '--script'], { cwd })
  expect(again.code).toBe(0)
  expect(existsSync(join(cwd, '.jackfield'))).toBe(false)
})

test('the folders visible to servers can be shown and changed in a conversation', async () => {
  const cwd = realpathSync(tempFolder())
  const [command, ...args] = travel()
  const words = ['chat', '--config', jsonFile({ mcpServers: { travel: { command, args } } })]
  const { stdout, stderr } = await run(words, {
    cwd,
    stdin:
      '/roots\n/roots allow travel\n/roots exclude **/secret\n/roots\n/roots tell\n/roots add\n/roots allow nobody\n',
  })
  const [before = '', after = ''] = stdout.split(/(?=^travel may see: )/m)
  expect(before).toMatch(new RegExp(`${cwd} +workspace`))
  expect(before).toMatch(/travel +ask +\S.* +you are asked about 1/)
  expect(after).toMatch(new RegExp(`travel may see: ${cwd}\n`))
  expect(after).toMatch(/travel +allowed +/)
  expect(after).toContain('excluded: **/secret')
  expect(stderr).toContain('"tell" is unknown. Usage: /roots [add | remove')
  expect(stderr).toContain('Usage: jackfield roots add <folder>')
  expect(stderr).toContain('There is no server "nobody"')
})
