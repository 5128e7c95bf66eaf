import { serveHttp } from '@jackfield/sdk/http'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createConformanceServer } from '../../conformance/server/definition.ts'
import { checkWire } from '../../packages/sdk/test/schema/wire.ts'
import { type Answers, type Guest, guests } from './guests.ts'
import { Wiretap } from './wiretap.ts'

let url = ''
let stop: () => Promise<void> = async () => {}

beforeAll(async () => {
  const listening = await serveHttp(createConformanceServer(), {
    keys: ['only for these tests, which need no secret'],
  }).listen({ port: 0 })
  url = listening.url
  stop = () => listening.close()
})

afterAll(() => stop())

describe.each(guests)('$name over HTTP', (kind) => {
  const open: Guest[] = []
  const taps: Wiretap[] = []

  async function guest(answers?: Answers): Promise<Guest> {
    const tap = new Wiretap()
    taps.push(tap)
    const one = await kind.connect({ url, fetch: tap.fetch }, answers)
    open.push(one)
    return one
  }

  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()))
    const heard = taps.splice(0).flatMap((tap) => tap.heard)
    expect(heard).not.toEqual([])
    const faults = heard.flatMap(({ message, answers }) =>
      checkWire(kind.revision, 'server', message, answers).map((fault) => ({ fault, message })),
    )
    expect(faults, 'everything the server sends fits the official schema').toEqual([])
  })

  it('negotiates its revision and learns who the server is', async () => {
    const one = await guest()
    expect(one.revision).toBe(kind.revision)
    expect(one.server).toMatchObject({ name: 'jackfield-conformance', version: '1.0.0' })
  })

  it('lists tools with schemas it accepts', async () => {
    const tools = await (await guest()).tools()
    expect(tools.length).toBeGreaterThan(20)
    expect(tools.find(({ name }) => name === 'test_elicitation')).toMatchObject({
      description: 'Asks the person for a name and an address',
      inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    })
  })

  it('calls tools that answer with every kind of content', async () => {
    const one = await guest()
    expect(await one.call('test_simple_text')).toMatchObject({
      content: [{ type: 'text', text: 'This is a simple text response for testing.' }],
    })
    expect(await one.call('test_multiple_content_types')).toMatchObject({
      content: [{ type: 'text' }, { type: 'image' }, { type: 'resource' }],
    })
    expect(await one.call('test_audio_content')).toMatchObject({ content: [{ type: 'audio' }] })
  })

  it("sees a tool's failure as a result, and a wrong name or wrong arguments as what the protocol says", async () => {
    const one = await guest()
    expect(await one.call('test_error_handling')).toMatchObject({ isError: true })
    await expect(one.call('no_such_tool')).rejects.toThrow('no_such_tool')
    const wrong = one.call('test_elicitation', { message: 1 })
    expect(await wrong).toMatchObject({ isError: true })
  })

  it('hears of progress while a tool runs', async () => {
    const one = await guest()
    const seen: number[] = []
    await one.call('test_tool_with_progress', {}, (done) => seen.push(done))
    expect(seen).toEqual([0, 50, 100])
  })

  it('hears log messages of the level it asked for, and none otherwise', async () => {
    const quiet = await guest()
    await quiet.logLevel('warning')
    await quiet.call('test_tool_with_logging')
    const loud = await guest()
    await loud.logLevel('info')
    await loud.call('test_tool_with_logging')
    await vi.waitFor(() =>
      expect(loud.heard.logs).toEqual([
        'Tool execution started',
        'Tool processing data',
        'Tool execution completed',
      ]),
    )
    expect(quiet.heard.logs).toEqual([])
  })

  it('lists and reads resources and templates', async () => {
    const one = await guest()
    expect(await one.resources()).toContainEqual(expect.objectContaining({ uri: 'test://static-text' }))
    expect(await one.templates()).toContainEqual(
      expect.objectContaining({ uriTemplate: 'test://template/{id}/data' }),
    )
    expect(await one.read('test://static-text')).toMatchObject([
      { uri: 'test://static-text', mimeType: 'text/plain', text: expect.any(String) },
    ])
    expect(await one.read('test://static-binary')).toMatchObject([
      { mimeType: 'image/png', blob: expect.any(String) },
    ])
    expect(await one.read('test://template/a%20b/data')).toMatchObject([
      { text: expect.stringContaining('a b') },
    ])
    await expect(one.read('test://nothing-here')).rejects.toThrow(/not found/i)
  })

  it('lists and gets prompts, and completes their arguments', async () => {
    const one = await guest()
    expect(await one.prompts()).toContainEqual(expect.objectContaining({ name: 'test_simple_prompt' }))
    expect(await one.prompt('test_prompt_with_arguments', { arg1: 'left', arg2: 'right' })).toMatchObject([
      { role: 'user', content: { type: 'text', text: expect.stringMatching(/left.*right/) } },
    ])
    await expect(one.prompt('test_prompt_with_arguments', { arg1: 'left' })).rejects.toMatchObject({
      code: -32602,
    })
    expect(await one.complete('test_prompt_with_arguments', 'arg1', 'test')).toEqual([
      'testValue1',
      'testValue2',
    ])
  })

  it('answers a form', async () => {
    const one = await guest({ elicit: () => ({ action: 'accept', content: { name: 'Ada' } }) })
    expect(await one.call('test_input_required_result_elicitation')).toMatchObject({
      content: [{ text: 'Hello, Ada!' }],
    })
  })

  it('has its refusal understood as one', async () => {
    const one = await guest({ elicit: () => ({ action: 'decline' }) })
    expect(await one.call('test_input_required_result_elicitation')).toMatchObject({
      content: [{ text: 'Hello, whoever you are!' }],
    })
  })

  it('answers one question after the other, and several at once', async () => {
    const one = await guest({
      elicit: ({ message }) => ({
        action: 'accept',
        content: message.includes('name')
          ? { name: 'Ada' }
          : message.includes('color')
            ? { color: 'blue' }
            : { ok: true },
      }),
      sample: 'Welcome',
      roots: [{ uri: 'file:///home/ada', name: 'home' }],
    })
    expect(await one.call('test_input_required_result_multi_round')).toMatchObject({
      content: [{ text: 'Ada likes blue' }],
    })
    expect(await one.call('test_input_required_result_multiple_inputs')).toMatchObject({
      content: [{ text: 'Welcome Ada, with 1 roots' }],
    })
    expect(await one.call('test_input_required_result_request_state')).toMatchObject({
      content: [{ text: 'state-ok' }],
    })
  })

  it('answers with its model', async () => {
    const one = await guest({ sample: 'Paris' })
    expect(await one.call('test_sampling', { prompt: 'Capital of France?' })).toMatchObject({
      content: [{ text: 'LLM response: Paris' }],
    })
  })

  it('is never asked what it cannot answer', async () => {
    const one = await guest({ sample: 'Paris' })
    expect(await one.call('test_input_required_result_capabilities')).toMatchObject({
      content: [{ text: 'Answers: Paris' }],
    })
    const mute = await guest()
    const call = mute.call('test_sampling', { prompt: 'Anybody there?' })
    if (kind.revision === '2026-07-28') await expect(call).rejects.toMatchObject({ code: -32021 })
    else expect(await call).toMatchObject({ isError: true })
  })

  it('asks a prompt that asks back', async () => {
    const one = await guest({ elicit: () => ({ action: 'accept', content: { context: 'the sea' } }) })
    expect(await one.prompt('test_input_required_result_prompt')).toMatchObject([
      { content: { text: 'Use this context: the sea' } },
    ])
  })

  it('hears that tools and a watched resource changed', async () => {
    const one = await guest()
    await one.watch('test://watched-resource')
    await one.call('test_trigger_tool_change')
    await one.call('test_trigger_resource_update')
    await vi.waitFor(
      () => expect(one.heard).toMatchObject({ toolChanges: 1, updated: ['test://watched-resource'] }),
      { timeout: 5000 },
    )
    expect(await one.tools()).toContainEqual(expect.objectContaining({ name: 'test_changing_tool' }))
  })

  it('keeps many calls at once apart', async () => {
    const one = await guest()
    // The mirrored argument's header is known from the list.
    await one.tools()
    const texts = Array.from({ length: 30 }, (_, at) => `region-${at}`)
    const answers = await Promise.all(texts.map((region) => one.call('test_x_mcp_header', { region })))
    expect(answers.map(({ content }) => content)).toEqual(
      texts.map((region) => [expect.objectContaining({ text: `Region: ${region}` })]),
    )
  })
})
