import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHost, type InboxItem, memorySecrets } from '@jackfield/host'
import { describe, expect, it } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { begin, jsonFile, recorded, run, tempFolder } from './jackfield.ts'

const server = programFile(new URL('asking-server.ts', import.meta.url))
const shop = programFile(new URL('sdk-asking-server.ts', import.meta.url))
const eras = { session: [process.execPath, server, 'session'], stateless: [process.execPath, server] }

/** A folder with a config that names the server, and a store in it. */
function place(era: keyof typeof eras) {
  const [command, ...args] = eras[era]
  const config = jsonFile({ mcpServers: { booking: { command, args } } })
  const store = join(tempFolder(), 'store.db')
  const options = ['--config', config, '--store', store]
  const questions = async (...more: string[]): Promise<InboxItem[]> => {
    const { stdout } = await run(['inbox', '--json', '--store', store, ...more])
    return JSON.parse(stdout).questions
  }
  /** A call whose question is in the inbox; `id` is the id that it prints. */
  const leftCall = async (...more: string[]) => {
    const call = begin(['call', 'booking', 'book', '--park', ...options, ...more])
    await call.waitForOutput('--cancel')
    const [item] = await questions()
    return { ...call, id: item?.id.slice(0, 8) ?? '' }
  }
  return { options, store, questions, leftCall }
}

describe.each(['session', 'stateless'] as const)('a call without a terminal (%s)', (era) => {
  it('prints how its question is answered, waits, and ends with the answer of another process', async () => {
    const { options, store, questions, leftCall } = place(era)
    const call = await leftCall()
    const answered = await run(['respond', call.id, '--accept', 'seat=12A', 'window=true', ...options])
    expect(answered).toMatchObject({ code: 0, stdout: 'Answered. The program that asked continues.\n' })
    const { code, stdout, stderr } = await call.ended
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ action: 'accept', content: { seat: '12A', window: true } })
    expect(stderr).toContain('booking asks (elicitation): Which seat?')
    expect(stderr).toContain(`jackfield respond ${call.id} --store ${store} --accept seat=… window=…`)
    const again = await run(['respond', call.id, '--decline', ...options])
    expect(again.code).toBe(1)
    expect(again.stderr).toMatch(/was already answered by jackfield respond at \d{4}-/)
    expect(await questions()).toEqual([])
    expect(await questions('--all')).toMatchObject([
      { state: 'answered', answer: { by: 'jackfield respond' } },
    ])
  })
})

describe('a deferred question of jackfield start', () => {
  it('is answered with the printed command, which restarts the server, from any folder', async () => {
    const home = join(tempFolder(), '.jackfield')
    mkdirSync(home)
    const store = join(home, 'host.db')
    // As jackfield start configures it, which is how it is restarted.
    const args = [builtProgram('travel'), '--db', join(home, 'travel.db')]
    const config = jsonFile({ mcpServers: { travel: { command: process.execPath, args } } })
    const trip = {
      destination: 'Barcelona',
      departure: '2027-06-15',
      returnDate: '2027-06-22',
      travelers: 1,
    }
    const words = ['call', 'travel', 'bookVacation', '--args', JSON.stringify(trip), '--park']
    const call = begin([...words, '--config', config, '--store', store])
    await call.waitForOutput('--cancel')
    call.child.kill('SIGKILL')
    await call.ended
    const { stdout: listed } = await run(['inbox', '--json', '--store', store])
    const [item] = JSON.parse(listed).questions
    const id = item.id.slice(0, 8)
    const { code, stdout, stderr } = await run(['respond', id, '--decline', '--store', store])
    expect(stderr).not.toContain('no config names')
    expect(stderr).not.toContain('State')
    expect({ code, stdout }).toMatchObject({
      stdout: expect.stringMatching(/not booked|Nothing was booked|declined/i),
    })
    for (const file of ['travel.db.key', 'travel.db.state'])
      expect(statSync(join(home, file)).mode & 0o777).toBe(0o600)
  })

  it('is rejected before the user is asked if no server can accept the answer', async () => {
    const { store, leftCall } = place('stateless')
    const call = await leftCall()
    call.child.kill('SIGKILL')
    await call.ended
    const { code, stderr } = await run(['respond', call.id, '--store', store])
    expect(code).toBe(2)
    expect(stderr).toContain('no config names "booking"')
  })
})

describe('a call whose process was killed', () => {
  it('continues in the process that answers, and shows its result (stateless)', async () => {
    const { options, questions, leftCall } = place('stateless')
    const call = await leftCall()
    call.child.kill('SIGKILL')
    await call.ended
    expect(await questions()).toMatchObject([{ state: 'suspended', waits: false, resumable: true }])
    const { code, stdout } = await run(['respond', call.id, '--accept', 'seat=1B', ...options])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ action: 'accept', content: { seat: '1B' }, state: 'seat wanted' })
    expect(await questions()).toEqual([])
  })

  it('is lost in a session, and reported', async () => {
    const { options, questions, leftCall } = place('session')
    const call = await leftCall()
    call.child.kill('SIGKILL')
    await call.ended
    expect(await questions()).toEqual([])
    const { code, stderr } = await run(['respond', call.id, '--accept', 'seat=1B', ...options])
    expect(code).toBe(1)
    expect(stderr).toContain('is lost: the program that asked ended')
  })
})

describe('a call of a restarted server that rejects its earlier state', () => {
  /** A call whose program was killed, and the beginning of its question's id. */
  async function killed(tool: string) {
    const config = jsonFile({ mcpServers: { shop: { command: process.execPath, args: [shop] } } })
    const store = join(tempFolder(), 'store.db')
    const options = ['--config', config, '--store', store]
    const call = begin(['call', 'shop', tool, '--park', ...options])
    await call.waitForOutput('--cancel')
    call.child.kill('SIGKILL')
    await call.ended
    const { stdout } = await run(['inbox', '--json', '--store', store])
    return { options, store, id: JSON.parse(stdout).questions[0].id.slice(0, 8) }
  }

  it('is repeated with the answer if its tool is idempotent', async () => {
    const { options, store, id } = await killed('quote')
    const { code, stdout, stderr } = await run(['respond', id, '--accept', 'item=tea', ...options])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a quote for tea\n' })
    expect(stderr).toContain('shop no longer accepts the answer to quote')
    expect(stderr).toContain('The call has to be made again; the entered values are kept for it.')
    const { stdout: left } = await run(['inbox', '--json', '--store', store])
    expect(JSON.parse(left).questions).toEqual([])
  })

  it('is otherwise repeated only by the user: which call, why, and the command for it', async () => {
    const { options, id } = await killed('refund')
    const refused = await run(['respond', id, '--accept', 'ok=true', ...options])
    const { stderr } = refused
    expect(refused).toMatchObject({ code: 4, stdout: '' })
    expect(stderr).toContain('! shop was restarted since it asked. If it rejects the answer')
    expect(stderr.match(/no longer accepts the answer/g)).toHaveLength(1)
    expect(stderr).toContain('shop no longer accepts the answer: it was restarted since it asked')
    expect(stderr).not.toMatch(/requestState|-32602/)
    expect(stderr).toContain('The call was not made again automatically: no person can be asked here')
    expect(stderr).toContain('Call refund again; the values you entered are filled in.')
    const command = `jackfield call shop refund ${options.join(' ')}`
    expect(stderr).toContain(`\n  ${command}\n`)
    const again = begin([...command.split(' ').slice(1), '--park'])
    await again.waitForOutput('--cancel')
    const { stdout } = await run(['inbox', '--json', '--store', options[3] ?? ''])
    const [item] = JSON.parse(stdout).questions
    expect(item.question.remembered).toEqual({ ok: true })
    await run(['respond', item.id, '--accept', 'ok=true', ...options])
    expect(await again.ended).toMatchObject({ code: 0, stdout: 'refunded: true\n' })
  })
})

describe('an interrupted call', () => {
  it('leaves its question, which a changed configuration of the server cannot answer (stateless)', async () => {
    const { options, store, questions, leftCall } = place('stateless')
    const call = await leftCall()
    call.child.kill('SIGINT')
    const { code, stderr } = await call.ended
    expect(code).toBe(130)
    expect(stderr).toContain('The question stays in the inbox. booking ended with this command')
    const listed = await run(['inbox', '--store', store])
    expect(listed.stdout).toContain('may reject the answer; the call is then made again')
    const only = ['--store', store]
    const nowhere = await run(['respond', call.id, '--accept', 'seat=1B', ...only])
    expect(nowhere.code).toBe(2)
    expect(nowhere.stderr).toContain('no config names "booking". Add --url <address>, or -- <command>')
    const another = [process.execPath, server, 'session']
    const wrong = await run(['respond', call.id, '--accept', 'seat=1B', ...only, '--', ...another])
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain('booking is not the server that asked')
    expect(await questions()).toMatchObject([{ state: 'suspended' }])
    const right = await run(['respond', call.id, '--cancel', ...only, '--', ...eras.stateless])
    expect(JSON.parse(right.stdout)).toEqual({ action: 'cancel', state: 'seat wanted' })
    expect(options).toHaveLength(4)
  })
})

describe.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGINT', 130],
] as const)('%s at a call that waits for an answer', (signal, exitCode) => {
  it('ends it: the question stays in the inbox, and its row ends (stateless)', async () => {
    const { store, questions, leftCall } = place('stateless')
    const call = await leftCall('--json')
    call.child.kill(signal)
    const { code, stdout, stderr } = await call.ended
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toContain(
      '{"error":{"message":"Interrupted. The question stays in the inbox. booking ended',
    )
    expect(await questions()).toMatchObject([{ state: 'suspended', waits: false, resumable: true }])
    const { rows } = await recorded(['--store', store], tempFolder())
    expect(rows.filter(({ kind }) => kind === 'call').map(({ outcome }) => outcome)).toEqual(['suspended'])
  })

  it('ends it with the same exit code if the question cannot stay (session)', async () => {
    const { store, questions, leftCall } = place('session')
    const call = await leftCall('--json')
    call.child.kill(signal)
    const { code, stdout, stderr } = await call.ended
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toContain(
      '{"error":{"message":"Interrupted. The question is withdrawn: a call in a session ends with the program that made it."}}\n',
    )
    expect(await questions()).toEqual([])
    const { rows } = await recorded(['--store', store], tempFolder())
    expect(rows.filter(({ kind }) => kind === 'call').map(({ outcome }) => outcome)).toEqual(['cancelled'])
  })
})

describe('answers on the command line', () => {
  it('that are invalid are rejected with the expected form, and the question stays open', async () => {
    const { options, questions, leftCall, store } = place('stateless')
    const call = await leftCall()
    const refused = async (...words: string[]): Promise<string> => {
      const { code, stderr } = await run(['respond', call.id, ...words, ...options])
      expect(code).toBe(2)
      return stderr
    }
    expect(await refused()).toContain(
      `jackfield respond ${call.id} --store ${store} --accept seat=… window=…`,
    )
    expect(await refused('--accept')).toContain('"seat" is required')
    expect(await refused('--accept', 'seat=1', 'window=perhaps')).toContain('window')
    expect(await refused('--accept', 'seat=1', 'door=2')).toContain('door')
    expect(await refused('--allow')).toContain('answer with --accept, --decline or --cancel')
    expect(await refused('--decline', '--cancel')).toContain('contradict each other')
    expect((await run(['respond', 'ffffffff', '--cancel', ...options])).stderr).toContain(
      'No question has an id',
    )
    expect(await questions()).toHaveLength(1)
    await run(['respond', call.id, '--decline', '--reason', 'no money', ...options])
    expect(JSON.parse((await call.ended).stdout)).toMatchObject({ action: 'decline' })
  })
})

describe('the inbox', () => {
  it('shows open questions as a table, one question in full, and advice when empty', async () => {
    const { store, leftCall } = place('stateless')
    const empty = await run(['inbox', '--store', store])
    expect(empty.stdout).toContain('No open questions.')
    const call = await leftCall()
    const table = (await run(['inbox', '--store', store])).stdout
    expect(table).toMatch(new RegExp(`${call.id} +just now +booking +elicitation +waits +Which seat\\?`))
    expect(table).toContain('1 question open: 1 with a program that waits, 0 suspended.')
    const whole = (await run(['inbox', call.id, '--store', store])).stdout
    expect(whole).toContain('booking, its tool book, called by cli')
    expect(whole).toContain('"requestedSchema"')
    expect(whole).toContain(`jackfield respond ${call.id} --store ${store} --decline`)
    await run(['respond', call.id, '--cancel', '--store', store])
    await call.ended
  })
})

describe('inbox --server', () => {
  it('rejects a server that is neither configured nor has asked, and lists the known ones', async () => {
    const { store, questions, leftCall } = place('stateless')
    const call = await leftCall()
    const unknown = await run(['inbox', '--server', 'bookings', '--store', store])
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toContain('There is no server "bookings". Known servers: booking.')
    expect(await questions('--server', 'booking')).toHaveLength(1)
    const cwd = tempFolder()
    writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { quiet: { command: 'quiet' } } }))
    const quiet = await run(['inbox', '--server', 'quiet', '--store', store], { cwd })
    expect(quiet).toMatchObject({ code: 0, stdout: expect.stringContaining('No open questions.') })
    call.child.kill('SIGINT')
    await call.ended
  })
})

describe('a value that a server needs', () => {
  it('is given by another command: a secret from stdin, any other on the command line', async () => {
    const store = join(tempFolder(), 'store.db')
    const [command, ...args] = eras.session
    const inputs = [
      { id: 'token', description: 'Your token' },
      { id: 'region', options: ['eu', 'us'] },
    ]
    const env = { TOKEN: `\${input:token}`, REGION: `\${input:region}` }
    const from = { file: '/none/mcp.json', layer: 'user' as const, inputs }
    const secrets = memorySecrets()
    await using host = createHost({
      servers: { booking: { command: command ?? '', args, env, from } },
      ...{ models: [], store, secrets },
      surface: { name: 'a window', show: { input: async () => undefined } },
    })
    const started = host.start()
    const open = async (): Promise<string> => {
      await expect.poll(() => host.inbox.list().length).toBe(1)
      return host.inbox.list()[0]?.id ?? ''
    }
    const respond = (id: string, words: string[], stdin?: string) =>
      run(['respond', id, ...words, '--store', store], stdin === undefined ? {} : { stdin })
    const token = await open()
    const listed = await run(['inbox', '--store', store])
    expect(listed.stdout).toMatch(/booking +input +waits +A value is needed: Your token/)
    const refused = await respond(token, ['--accept', 'value=canary-5f2c1e'])
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('does not belong on the command line'),
    })
    expect(await respond(token, ['--allow'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('answer with --accept or --deny'),
    })
    expect(await respond(token, ['--accept'], 'canary-5f2c1e\n')).toMatchObject({ code: 0 })
    await expect.poll(() => host.inbox.get(token)?.state).toBe('answered')
    const region = await open()
    expect(await respond(region, ['--accept', 'value=mars'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The value is one of: eu, us'),
    })
    expect(await respond(region, ['--accept', 'value=eu'])).toMatchObject({ code: 0 })
    await started
    expect(host.connections.get('booking')?.state).toBe('ready')
    expect(await secrets.get('input token of /none/mcp.json')).toBe('canary-5f2c1e')
    const shown = await run(['inbox', token, '--store', store])
    expect(shown.stdout).toContain('by jackfield respond')
    expect(shown.stdout).not.toContain('canary')
  })
})
