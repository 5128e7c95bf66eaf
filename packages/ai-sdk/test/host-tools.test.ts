import { fileURLToPath } from 'node:url'
import { hostTools } from '@jackfield/ai-sdk'
import { createHost, type PolicyRule, type Surface } from '@jackfield/host'
import { generateText, isStepCount } from 'ai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ModelCall, modelCalling, resultsGiven } from './model.ts'

const quickstart = fileURLToPath(new URL('../../../examples/quickstart/server.ts', import.meta.url))

/** A host with the server of the quick start, and a model that makes these calls. */
async function generated(rules: PolicyRule[], calls: ModelCall[], surface?: Surface) {
  const host = createHost({
    servers: { shop: { command: process.execPath, args: [quickstart] } },
    rules,
    models: [],
    ...(surface === undefined ? {} : { surface }),
  })
  onTestFinished(() => host.close())
  await host.start()
  const model = modelCalling(...calls)
  const tools = hostTools(host, { conversation: 'one' })
  const result = await generateText({ model, tools, prompt: 'Go.', stopWhen: isStepCount(2) })
  return { host, result, given: resultsGiven(model), tools }
}

const call: ModelCall = { toolName: 'shop__refund', input: { order: '42' } }

describe('hostTools in generateText', () => {
  it('calls through the policy of the host, with its activity log and its questions to the user', async () => {
    const asked: string[] = []
    const surface: Surface = {
      name: 'test',
      show: {
        async approval({ tool, cause }) {
          asked.push(`${cause.caller} calls ${tool.name}`)
          return { verdict: 'allow' }
        },
        async elicitation({ params }) {
          asked.push(params.message)
          return { action: 'accept', content: { ok: true } }
        },
      },
    }
    const { host, given, tools } = await generated([], [call], surface)
    expect(Object.keys(tools)).toEqual(['shop__refund'])
    expect(asked).toEqual(['chat calls shop__refund', 'Refund 42?'])
    expect(given).toEqual([{ type: 'text', value: 'Refunded 42.' }])
    expect(host.activity({ kind: 'call' }).map(({ detail }) => detail)).toEqual([
      expect.objectContaining({ caller: 'chat', conversation: 'one' }),
    ])
  })

  it('passes a denial to the model, and does not call the tool', async () => {
    const rules: PolicyRule[] = [{ id: 'no-refunds', verdict: 'deny', tool: 'refund', caller: ['chat'] }]
    const { given, result } = await generated(rules, [call])
    expect(given).toEqual([{ type: 'execution-denied', reason: expect.stringContaining('no-refunds') }])
    expect(result.steps[0]?.toolResults[0]?.output).toMatchObject({ denied: true })
  })
})
