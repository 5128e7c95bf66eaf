import { clientTools, ToolCallError, type ToolsOptions } from '@jackfield/ai-sdk'
import { audio, blob, defineServer, image, reply, type Tool, ToolError, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { memory } from '@jackfield/sdk/testing'
import { generateText, isStepCount, streamText } from 'ai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type ModelCall, modelCalling, resultsGiven } from './model.ts'

let received: { name: string; args: unknown }[] = []
const gate = { opened: Promise.resolve(), cancelled: () => {} }

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    price: tool({
      title: 'Price',
      description: 'What an order costs',
      annotations: { readOnlyHint: true },
      input: z.object({ order: z.string() }),
      output: z.object({ cents: z.number() }),
      run(args) {
        received.push({ name: 'price', args })
        return { cents: 4900 }
      },
    }),
    // Members that the schema does not name are allowed.
    free: tool({
      input: { type: 'object', additionalProperties: true },
      run: (args) => JSON.stringify(args),
    }),
    prose: tool({
      output: z.object({ cents: z.number() }),
      run: () => reply({ content: 'It is cheap.', structured: { cents: 1 } }),
    }),
    media: tool({
      run: () => [
        'A picture:',
        image(new Uint8Array([1, 2, 3]), 'image/png'),
        audio(new Uint8Array([1, 2, 3, 4]), 'audio/wav'),
        blob('shop://invoice.zip', new Uint8Array([1, 2]), 'application/zip'),
        { type: 'resource', resource: { uri: 'shop://terms', text: 'All sales are final.' } },
        { type: 'resource_link', uri: 'shop://orders/42', name: 'Order 42', mimeType: 'application/json' },
        { type: 'text', text: 'secret of the user', annotations: { audience: ['user'] } },
      ],
    }),
    fails: tool({
      run() {
        throw new ToolError('Order 42 does not exist.')
      },
    }),
    nothing: tool({ run: () => undefined }),
    long: tool({ run: () => 'x'.repeat(200_000) }),
    counts: tool({
      async run(_args, ctx) {
        ctx.progress(1, 2, 'half')
        await gate.opened
        return 'counted'
      },
    }),
    waits: tool({
      run: (_args, ctx) =>
        new Promise((_resolve, reject) => {
          received.push({ name: 'waits', args: {} })
          ctx.signal.addEventListener('abort', () => {
            gate.cancelled()
            reject(ctx.signal.reason)
          })
        }),
    }),
    'report.create.v2': tool({ run: () => 'dotted' }),
    report_create_v2: tool({ run: () => 'plain' }),
    asks: tool({
      async run(_args, ctx) {
        const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        return answer.action
      },
    }),
  },
})

async function connected() {
  received = []
  const client = await connect(memory(server), {
    onElicit: () => ({ action: 'accept', content: { ok: true } }),
  })
  onTestFinished(() => client.close())
  return client
}

/** What the model is given for its calls, and the result of `generateText`. */
async function generated(calls: ModelCall[], options: ToolsOptions = {}) {
  const model = modelCalling(...calls)
  const tools = await clientTools(await connected(), options)
  const result = await generateText({ model, tools, prompt: 'Go.', stopWhen: isStepCount(2) })
  return { result, given: resultsGiven(model), model }
}

describe('clientTools in generateText', () => {
  it('offers names, descriptions and schemas as the server declared them', async () => {
    const { model } = await generated([])
    const offered = model.doGenerateCalls[0]?.tools ?? []
    const client = await connected()
    const declared = await client.tools()
    const schemaOf = (name: string) => declared.find((one) => one.name === name)?.inputSchema
    expect(offered).toContainEqual(
      expect.objectContaining({
        name: 'price',
        description: 'What an order costs',
        inputSchema: schemaOf('price'),
      }),
    )
    expect(offered).toContainEqual(
      expect.objectContaining({
        name: 'free',
        inputSchema: { type: 'object', properties: {}, additionalProperties: true },
      }),
    )
  })

  it('maps names to ones that every provider accepts, and calls the tool of that name', async () => {
    const { model, given } = await generated([
      { toolName: 'report_create_v2', input: {} },
      { toolName: 'report_create_v2_2', input: {} },
    ])
    for (const { name } of model.doGenerateCalls[0]?.tools ?? []) expect(name).toMatch(/^[\w-]{1,64}$/)
    expect(given).toEqual([
      { type: 'text', value: 'plain' },
      { type: 'text', value: 'dotted' },
    ])
  })

  it('calls the tool, and passes structured content to the model once', async () => {
    const { given, result } = await generated([{ toolName: 'price', input: { order: '42' } }])
    expect(received).toEqual([{ name: 'price', args: { order: '42' } }])
    expect(given).toEqual([{ type: 'text', value: '{"cents":4900}' }])
    expect(result.text).toBe('Done.')
    expect(result.steps[0]?.toolResults[0]?.output).toMatchObject({ structuredContent: { cents: 4900 } })
    expect(result.steps[0]?.toolCalls[0]).toMatchObject({
      dynamic: true,
      toolMetadata: {
        server: 'shop',
        toolName: 'price',
        title: 'Price',
        annotations: { readOnlyHint: true },
      },
    })
  })

  it('passes structured content beside a text that does not repeat it', async () => {
    const { given } = await generated([{ toolName: 'prose', input: {} }])
    expect(given).toEqual([
      {
        type: 'content',
        value: [
          { type: 'text', text: 'It is cheap.' },
          { type: 'text', text: '{"cents":1}' },
        ],
      },
    ])
  })

  it('passes media that models accept, describes the others, and leaves out content for the user only', async () => {
    const { given } = await generated([{ toolName: 'media', input: {} }])
    expect(given).toEqual([
      {
        type: 'content',
        value: [
          { type: 'text', text: 'A picture:' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
          { type: 'text', text: '[audio/wav, 4 bytes, not shown to you]' },
          { type: 'text', text: '[application/zip of shop://invoice.zip, 2 bytes, not shown to you]' },
          { type: 'text', text: 'shop://terms\nAll sales are final.' },
          { type: 'text', text: '[resource: Order 42, shop://orders/42, application/json]' },
          { type: 'text', text: '[1 of 7 parts are for the user only]' },
        ],
      },
    ])
    const all = await generated([{ toolName: 'media', input: {} }], { media: () => true })
    expect(JSON.stringify(all.given)).toContain('"mediaType":"audio/wav"')
  })

  it('limits the text of a result, with a note', async () => {
    const { given } = await generated([{ toolName: 'long', input: {} }], { maxChars: 10 })
    expect(given).toEqual([{ type: 'text', value: 'xxxxxxxxxx\n[199990 more characters are left out]' }])
    const bounded = await generated([{ toolName: 'long', input: {} }])
    expect(JSON.stringify(bounded.given).length).toBeLessThan(101_000)
  })

  it('passes an empty result as such', async () => {
    const { given } = await generated([{ toolName: 'nothing', input: {} }])
    expect(given).toEqual([{ type: 'text', value: '[The tool returned no content]' }])
  })

  it('makes a failure of the tool a tool-error with its result, which is passed to the model', async () => {
    const { given, result } = await generated([{ toolName: 'fails', input: {} }])
    const error = result.steps[0]?.content.find((part) => part.type === 'tool-error')?.error
    expect(error).toBeInstanceOf(ToolCallError)
    expect(error).toMatchObject({ toolName: 'fails', result: { isError: true } })
    expect(given).toEqual([{ type: 'error-text', value: 'ToolCallError: Order 42 does not exist.' }])
  })

  it('checks arguments before the server is called, so that they can be repaired', async () => {
    const { given } = await generated([{ toolName: 'price', input: { order: 42 } }])
    expect(received).toEqual([])
    expect(JSON.stringify(given)).toContain('/order must be string')

    const model = modelCalling({ toolName: 'price', input: { order: 42 } })
    const tools = await clientTools(await connected())
    await generateText({
      model,
      tools,
      prompt: 'Go.',
      stopWhen: isStepCount(2),
      repairToolCall: async ({ toolCall }) => ({ ...toolCall, input: '{"order":"42"}' }),
    })
    expect(received).toEqual([{ name: 'price', args: { order: '42' } }])
  })

  it('has the questions of a tool answered by the handlers of the client', async () => {
    const { given } = await generated([{ toolName: 'asks', input: {} }])
    expect(given).toEqual([{ type: 'text', value: 'accept' }])
  })

  it('cancels the call on the server when the generation is aborted', async () => {
    const cancelled = new Promise<void>((resolve) => {
      gate.cancelled = resolve
    })
    const stop = new AbortController()
    const tools = await clientTools(await connected())
    const generating = generateText({
      model: modelCalling({ toolName: 'waits', input: {} }),
      tools,
      prompt: 'Go.',
      abortSignal: stop.signal,
    })
    await expect.poll(() => received.length).toBe(1)
    stop.abort()
    await cancelled
    await generating.catch(() => {})
  })

  it('offers what the filter allows, with a prefix for each server', async () => {
    const client = await connected()
    const isReadOnly = ({ annotations }: Tool) => annotations?.readOnlyHint === true
    const tools = await clientTools(client, { prefix: 'shop_', filter: isReadOnly })
    expect(Object.keys(tools)).toEqual(['shop_price'])
    const model = modelCalling({ toolName: 'shop_price', input: { order: '42' } })
    await generateText({ model, tools, prompt: 'Go.', stopWhen: isStepCount(2) })
    expect(received).toEqual([{ name: 'price', args: { order: '42' } }])
  })

  it('fails with the error of the client once the connection is closed', async () => {
    const client = await connected()
    const tools = await clientTools(client)
    await client.close()
    const model = modelCalling({ toolName: 'free', input: {} })
    const result = await generateText({ model, tools, prompt: 'Go.', stopWhen: isStepCount(2) })
    expect(result.steps[0]?.content.find((part) => part.type === 'tool-error')).toBeDefined()
  })
})

describe('clientTools in streamText', () => {
  it('reports progress, also as preliminary results of the call', async () => {
    let open = (): void => {}
    gate.opened = new Promise((resolve) => {
      open = resolve
    })
    const reported: unknown[] = []
    const tools = await clientTools(await connected(), {
      preliminaryProgress: true,
      onProgress: (report, call) => reported.push({ report, call }),
    })
    const model = modelCalling({ toolName: 'counts', input: {} })
    const outputs: unknown[] = []
    const { stream } = streamText({ model, tools, prompt: 'Go.', stopWhen: isStepCount(2) })
    for await (const part of stream) {
      if (part.type !== 'tool-result') continue
      outputs.push({ preliminary: part.preliminary === true, output: part.output })
      open()
    }
    const half = { progress: 1, total: 2, message: 'half' }
    expect(reported).toEqual([{ report: half, call: { toolName: 'counts', toolCallId: 'call-0' } }])
    const counted = expect.objectContaining({ content: [{ type: 'text', text: 'counted' }] })
    // The AI SDK emits the last output twice: as preliminary, and as the result.
    expect(outputs).toEqual([
      { preliminary: true, output: { progress: half } },
      { preliminary: true, output: counted },
      { preliminary: false, output: counted },
    ])
    expect(resultsGiven(model)).toEqual([{ type: 'text', value: 'counted' }])
  })
})
