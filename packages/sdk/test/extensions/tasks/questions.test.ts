import { type AnyTool, ask, defineServer, inputRequired, tool } from '@jackfield/sdk'
import { type TasksOptions, tasks } from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isObject } from '../../../../../test/setup/json.ts'
import { idIn, keysIn, modern, type Raw, type RawOptions, reached, tasksId, textIn } from './support.ts'

const open: Raw[] = []
afterEach(async () => {
  for (const raw of open.splice(0)) await raw.close()
})

function peerOf(tools: Record<string, AnyTool>, options?: RawOptions, more: TasksOptions = {}): Raw {
  const raw = modern(
    defineServer({
      name: 'asker',
      version: '1',
      tools,
      extensions: [tasks({ pollIntervalMs: 20, ...more })],
      onError: () => {},
    }),
    options,
  )
  open.push(raw)
  return raw
}

const yes = { action: 'accept', content: { ok: true } }
const no = { action: 'accept', content: { ok: false } }
const ok = z.object({ ok: z.boolean() })

/** Answers one question, whatever its key, and gives that key. */
async function answerNext(peer: Raw, taskId: string, answer: object): Promise<string> {
  const [key = ''] = keysIn(await reached(peer, taskId, 'input_required'))
  await peer.ask('tasks/update', { taskId, inputResponses: { [key]: answer } })
  return key
}

describe('a task with input requests', () => {
  it('waits with its questions, in the form of a retry, and continues with the answer', async () => {
    const confirm = tool({
      task: 'required',
      async run(_args, ctx): Promise<string> {
        const sure = await ctx.elicit({ key: 'sure', message: 'Sure?', schema: ok })
        return sure.action === 'accept' && sure.content.ok ? 'done' : 'kept'
      },
    })
    const peer = peerOf({ confirm })
    const taskId = idIn(await peer.ask('tools/call', { name: 'confirm' }))
    const waiting = await reached(peer, taskId, 'input_required')
    expect(waiting['inputRequests']).toEqual({
      sure: {
        method: 'elicitation/create',
        params: expect.objectContaining({
          mode: 'form',
          message: 'Sure?',
          requestedSchema: expect.anything(),
        }),
      },
    })
    expect(waiting).not.toHaveProperty('requestState')
    const { _meta, ...ack } = await peer.ask('tasks/update', { taskId, inputResponses: { sure: yes } })
    expect(ack).toEqual({ resultType: 'complete' })
    expect(textIn((await reached(peer, taskId, 'completed'))['result'])).toBe('done')
  })

  it('may ask as many questions as maxQuestions allows', async () => {
    const survey = tool({
      task: 'required',
      async run(_args, ctx) {
        for (let i = 1; i <= 3; i++) await ctx.elicit({ message: `Sure ${i}?`, schema: ok })
        return 'asked'
      },
    })
    const run = async (maxQuestions: number): Promise<unknown> => {
      const peer = peerOf({ survey }, {}, { maxQuestions })
      const taskId = idIn(await peer.ask('tools/call', { name: 'survey' }))
      for (let i = 0; i < Math.min(maxQuestions, 3); i++) await answerNext(peer, taskId, yes)
      return (await reached(peer, taskId, maxQuestions < 3 ? 'failed' : 'completed'))['status']
    }
    expect(await run(3)).toBe('completed')
    expect(await run(2)).toBe('failed')
  })

  it('accepts answers one by one and keeps only open questions', async () => {
    const both = tool({
      task: 'required',
      async run(_args, ctx) {
        const answers = await Promise.all([
          ctx.elicit({ key: 'first', message: 'First?', schema: ok }),
          ctx.elicit({ key: 'second', message: 'Second?', schema: ok }),
        ])
        return answers.map((answer) => answer.action === 'accept' && answer.content.ok).join()
      },
    })
    const peer = peerOf({ both })
    const taskId = idIn(await peer.ask('tools/call', { name: 'both' }))
    expect(keysIn(await reached(peer, taskId, 'input_required'))).toEqual(['first', 'second'])
    await peer.ask('tasks/update', { taskId, inputResponses: { first: yes } })
    const half = await peer.ask('tasks/get', { taskId })
    expect([half['status'], keysIn(half)]).toEqual(['input_required', ['second']])
    await peer.ask('tasks/update', { taskId, inputResponses: { second: no } })
    expect(textIn((await reached(peer, taskId, 'completed'))['result'])).toBe('true,false')
  })

  it('ignores answers to questions that are not open: unknown, or answered before', async () => {
    const twice = tool({
      task: 'required',
      async run(_args, ctx) {
        const first = await ctx.elicit({ key: 'first', message: 'First?', schema: ok })
        const second = await ctx.elicit({ key: 'second', message: 'Second?', schema: ok })
        return [first, second].map((answer) => answer.action === 'accept' && answer.content.ok).join()
      },
    })
    const peer = peerOf({ twice })
    const taskId = idIn(await peer.ask('tools/call', { name: 'twice' }))
    await reached(peer, taskId, 'input_required')
    await peer.ask('tasks/update', { taskId, inputResponses: { never: yes, second: no } })
    expect(keysIn(await peer.ask('tasks/get', { taskId }))).toEqual(['first'])
    await peer.ask('tasks/update', { taskId, inputResponses: { first: yes } })
    await expect
      .poll(async () => keysIn(await peer.ask('tasks/get', { taskId })), { timeout: 5000 })
      .toEqual(['second'])
    await peer.ask('tasks/update', { taskId, inputResponses: { first: no } })
    await peer.ask('tasks/update', { taskId, inputResponses: { second: yes } })
    const done = await reached(peer, taskId, 'completed')
    expect(textIn(done['result'])).toBe('true,true')
    expect(await peer.ask('tasks/update', { taskId, inputResponses: { first: no } })).toMatchObject({
      resultType: 'complete',
    })
    expect(await peer.ask('tasks/get', { taskId })).toEqual(done)
  })

  it('rejects an invalid answer, and keeps waiting', async () => {
    const confirm = tool({
      task: 'required',
      async run(_args, ctx): Promise<string> {
        const sure = await ctx.elicit({ key: 'sure', message: 'Sure?', schema: ok })
        return sure.action
      },
    })
    const peer = peerOf({ confirm })
    const taskId = idIn(await peer.ask('tools/call', { name: 'confirm' }))
    await reached(peer, taskId, 'input_required')
    for (const inputResponses of [
      { sure: { action: 'accept', content: { ok: 'maybe' } } },
      'yes',
      undefined,
    ]) {
      const { error } = await peer.send('tasks/update', { taskId, inputResponses })
      expect(error).toMatchObject({ code: -32602 })
    }
    expect(await peer.ask('tasks/get', { taskId })).toMatchObject({ status: 'input_required' })
  })

  it('uses each key once, whatever its author called the questions', async () => {
    const stubborn = tool({
      task: 'required',
      async run(_args, ctx) {
        for (let n = 1; ; n++) {
          const sure = await ctx.elicit({ key: 'sure', message: `Sure? (${n})`, schema: ok })
          if (sure.action === 'accept' && sure.content.ok) return `after ${n}`
        }
      },
    })
    const explicit = tool({
      task: 'required',
      run(_args, ctx) {
        const tries = typeof ctx.state === 'number' ? ctx.state : 0
        if (isObject(ctx.answers['sure']) && tries === 3) return `after ${tries}`
        return inputRequired({
          requests: { sure: ask.elicit({ message: 'Sure?', schema: ok }) },
          state: tries + 1,
        })
      },
    })
    const peer = peerOf({ stubborn, explicit })
    for (const name of ['stubborn', 'explicit']) {
      const taskId = idIn(await peer.ask('tools/call', { name }))
      const keys = [
        await answerNext(peer, taskId, no),
        await answerNext(peer, taskId, no),
        await answerNext(peer, taskId, yes),
      ]
      expect(new Set(keys).size).toBe(3)
      expect(textIn((await reached(peer, taskId, 'completed'))['result'])).toBe('after 3')
    }
  })

  it('runs its steps before a question once', async () => {
    let charged = 0
    const seen: string[] = []
    const buy = tool({
      task: 'required',
      async run(_args, ctx) {
        const receipt = await ctx.step('charge', (key) => {
          seen.push(key)
          return ++charged
        })
        await ctx.elicit({ message: 'Wrap it?', schema: ok })
        return `receipt ${receipt}`
      },
    })
    const peer = peerOf({ buy })
    const taskId = idIn(await peer.ask('tools/call', { name: 'buy' }))
    await answerNext(peer, taskId, yes)
    expect(textIn((await reached(peer, taskId, 'completed'))['result'])).toBe('receipt 1')
    expect([charged, seen.length]).toEqual([1, 1])
  })

  it('fails when it needs an unsupported capability', async () => {
    const sampling = tool({
      task: 'required',
      run: async (_args, ctx) => (await ctx.sample({ messages: [], maxTokens: 1 })).model,
    })
    const peer = peerOf({ sampling }, { capabilities: { extensions: { [tasksId]: {} } } })
    const taskId = idIn(await peer.ask('tools/call', { name: 'sampling' }))
    expect(await reached(peer, taskId, 'failed')).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } },
    })
  })

  it('is cancelled while it waits', async () => {
    const confirm = tool({
      task: 'required',
      run: async (_args, ctx): Promise<string> =>
        (await ctx.elicit({ key: 'sure', message: 'Sure?', schema: ok })).action,
    })
    const peer = peerOf({ confirm })
    const taskId = idIn(await peer.ask('tools/call', { name: 'confirm' }))
    await reached(peer, taskId, 'input_required')
    await peer.ask('tasks/cancel', { taskId })
    await peer.ask('tasks/update', { taskId, inputResponses: { sure: yes } })
    const task = await peer.ask('tasks/get', { taskId })
    expect(task).toMatchObject({ status: 'cancelled' })
    expect(task).not.toHaveProperty('inputRequests')
  })
})

describe('a call that becomes a task during its run', () => {
  const runs: string[] = []
  const book = tool({
    async run(_args, ctx) {
      const priced = await ctx.step('price', () => runs.push('price'))
      const who = await ctx.elicit({
        key: 'who',
        message: 'For whom?',
        schema: z.object({ name: z.string() }),
      })
      await ctx.task()
      const sure = await ctx.elicit({ key: 'who', message: 'Really?', schema: ok })
      runs.push('booked')
      return `${priced} for ${who.action === 'accept' ? who.content.name : '-'}: ${sure.action}`
    },
  })

  it('asks first with retries, then responds with the task, which has all answers', async () => {
    runs.length = 0
    const peer = peerOf({ book })
    const first = await peer.ask('tools/call', { name: 'book' })
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { who: expect.anything() } })
    expect(first).not.toHaveProperty('taskId')
    const created = await peer.ask('tools/call', {
      name: 'book',
      requestState: first['requestState'],
      inputResponses: { who: { action: 'accept', content: { name: 'Alice' } } },
    })
    expect(created).toMatchObject({ resultType: 'task', status: 'working' })
    expect(created).not.toHaveProperty('requestState')
    expect(created).not.toHaveProperty('inputRequests')
    const taskId = idIn(created)
    await answerNext(peer, taskId, yes)
    expect(textIn((await reached(peer, taskId, 'completed'))['result'])).toBe('1 for Alice: accept')
    expect(runs).toEqual(['price', 'booked'])
  })

  it('stays a call for a client without tasks', async () => {
    const later = tool({
      async run(_args, ctx) {
        await ctx.task()
        return 'in one go'
      },
    })
    const peer = peerOf({ later }, { capabilities: {} })
    expect(textIn(await peer.ask('tools/call', { name: 'later' }))).toBe('in one go')
  })
})
