import type { CreateMessageParams, ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import pc from 'picocolors'
import { FormModel } from '../../../packages/app/src/forms/form-model.ts'
import { drawForm } from '../../../packages/app/src/forms/form-view.ts'
import { promptResult, readResult, toolResult } from '../../../packages/app/src/output/content.ts'
import { requestText } from '../../../packages/app/src/surface/sampling-card.ts'
import { createSecretRedactor } from '../../../packages/host/src/config/secrets/redactor.ts'
import { planForm } from '../../../packages/host/src/core/forms/form.ts'
import { Definitions } from '../../../packages/host/src/core/trust/definitions.ts'
import { neighboursOf, scanDefinition } from '../../../packages/host/src/core/trust/scan.ts'
import { documentOf, fitResult, fullText } from '../../../packages/host/src/models/fitted-result.ts'
import { estimateOf, requestTokens } from '../../../packages/host/src/models/sampling/budget.ts'
import { chooseModel } from '../../../packages/host/src/models/sampling/choose.ts'
import { createSamplingRedactor } from '../../../packages/host/src/models/sampling/redact.ts'
import { modelTool } from '../../../packages/host/src/models/tool-search/meter.ts'
import { ToolIndex } from '../../../packages/host/src/models/tool-search/tool-index.ts'
import { previewOf } from '../../../packages/host/src/resources/contents.ts'
import { fingerprint } from '../../../packages/host/src/shared/fingerprint.ts'
import { connect } from '../../../packages/sdk/src/client/index.ts'
import { assertResult } from '../../../packages/sdk/src/client/result-shapes.ts'
import { parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { checkFormHints, isElicitSchema } from '../../../packages/sdk/src/protocol/elicitation.ts'
import { isObject } from '../../setup/json.ts'
import type { Random } from '../random.ts'
import { isTyped, mustHold, type Target } from './fuzz-target.ts'
import { messages } from './fuzz-wire.ts'
import { type SchemaPeer, schemaPeer } from './schema-peer.ts'
import { results } from './schema-results.ts'

const revisions = ['2026-07-28', '2025-11-25'] as const
const right = { '2026-07-28': results('2026-07-28'), '2025-11-25': results('2025-11-25') }
const palette = pc.createColors(false)
const blanker = createSamplingRedactor()
const models = [
  { id: 'a/large', isLanguageModel: true, contextTokens: 100_000 },
  { id: 'b/mini', isLanguageModel: true },
] as const
const redactor = createSecretRedactor()
redactor.add('hunter2-hunter2', 'password')

/** What servers say to a client and its host: lists, results, questions and forms. */
export function clientTargets(): Target[] {
  const clients = new Map<ProtocolVersion, ConnectedPeer>()
  return [
    {
      name: 'answers of servers',
      share: 3,
      seeds: answers,
      run: (input, random) => answered(input, random, clients),
      allows: isTyped,
    },
    {
      name: 'words of servers',
      share: 3,
      seeds: sent,
      run: (input, random) => receiveMessage(input, random, clients),
      allows: isTyped,
    },
    { name: 'results of servers', share: 4, seeds: answers, run: used, allows: isTyped },
    { name: 'forms', share: 3, seeds: forms, run: form, allows: isTyped },
  ]
}

const all = revisions.flatMap((revision) => Object.entries(right[revision]))
const answers: [string, ...string[]] = [
  '{"method":"ping","result":{}}',
  ...all
    .filter(([method]) => method !== 'initialize' && method !== 'server/discover')
    .map(([method, result]) => JSON.stringify({ method, result })),
  JSON.stringify({
    method: 'tools/call',
    result: {
      resultType: 'input_required',
      inputRequests: {
        a: {
          method: 'elicitation/create',
          params: { message: 'm', requestedSchema: { type: 'object', properties: {} } },
        },
      },
      requestState: 's',
    },
  }),
  '{"method":"tools/call","error":{"code":-32602,"message":"m","data":{"a":1}}}',
  '{"method":"tools/call","error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}}',
  '{"method":"tools/call","error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"],"requested":"a"}}}',
]
const params: Readonly<Record<string, object>> = {
  'tools/call': { name: 'other', arguments: {} },
  'resources/read': { uri: 'file:///readme' },
  'resources/subscribe': { uri: 'file:///readme' },
  'resources/unsubscribe': { uri: 'file:///readme' },
  'prompts/get': { name: 'greet' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } },
  'logging/setLevel': { level: 'info' },
}

/** A client and its peer. */
interface ConnectedPeer {
  readonly peer: SchemaPeer
  readonly client: Client
}

const handlers: ConnectOptions = {
  onWarning: () => {},
  sampling: { tools: true, context: true },
  onElicit: (question) => {
    noted(() => {
      if ('requestedSchema' in question) show(question.requestedSchema, question.message)
    })
    return { action: 'cancel' }
  },
  onSample: (params) => {
    noted(() => weighed(params))
    return { model: 'm', role: 'assistant', content: { type: 'text', text: 't' } }
  },
}
/** A failure in a handler, which only its server sees. */
const faults: unknown[] = []

function noted(work: () => void): void {
  try {
    work()
  } catch (error) {
    faults.push(error)
  }
}

/** A request to a model as a host blanks it, weighs it and shows it. */
function weighed(params: CreateMessageParams): void {
  const { params: sent } = blanker.redact(params)
  mustHold(blanker.redact(sent).redactions.length === 0, 'something that was to be blanked is left')
  const tokens = requestTokens(sent) + sent.maxTokens
  const { model } = chooseModel(models, sent.modelPreferences, { facts: [], tokens })
  mustHold(
    models.some(({ id }) => id === model),
    'a model is chosen that there is not',
  )
  estimateOf(sent, undefined)
  requestText(sent, palette)
}

async function connectedPeer(
  clients: Map<ProtocolVersion, ConnectedPeer>,
  random: Random,
): Promise<ConnectedPeer> {
  const revision = random.pick(revisions)
  const known = clients.get(revision)
  // A client that was used for long, or was lied to, is no proof of how the next one begins.
  if (known !== undefined && random.fraction() < 0.98) return known
  await known?.client.close()
  const peer = schemaPeer((method) => ({ result: right[revision][method] ?? {} }))
  const connected = { peer, client: await connect(peer.link, { ...handlers, revisions: [revision] }) }
  clients.set(revision, connected)
  return connected
}

/** Answers one request, and once more where it is made again. */
async function answered(
  input: Buffer,
  random: Random,
  clients: Map<ProtocolVersion, ConnectedPeer>,
): Promise<void> {
  const value = parseJson(input.toString('utf8'))
  if (!isObject(value)) return
  const { method, result, error } = value
  if (typeof method !== 'string') return
  const { client, peer } = await connectedPeer(clients, random)
  peer.answer = () => (error === undefined ? { result } : { error })
  const stop = new AbortController()
  const asked = client.request(method, { ...params[method] }, { signal: stop.signal })
  await Promise.race([asked, turns(20).then(() => stop.abort())])
  await asked
}

async function receiveMessage(
  input: Buffer,
  random: Random,
  clients: Map<ProtocolVersion, ConnectedPeer>,
): Promise<void> {
  const value = parseJson(input.toString('utf8'))
  if (typeof value !== 'object' || value === null) return
  const { peer } = await connectedPeer(clients, random)
  peer.answer = () => ({ result: {} })
  peer.send(value)
  await turns(2)
  const [fault] = faults.splice(0)
  if (fault !== undefined) throw fault
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

const sent: [string, ...string[]] = [
  '{"jsonrpc":"2.0","id":1,"method":"roots/list"}',
  '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":"d"}},"required":["a"]}}}',
  '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"e"}}',
  '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":9,"modelPreferences":{"hints":[{"name":"h"}],"costPriority":0.5},"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"},"stopSequences":["s"],"temperature":1}}',
  '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":{"a":1}}}',
  '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":2,"message":"m"}}',
  '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///readme","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}',
  '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///readme"]},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}',
  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}',
  '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}',
  '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
  ...messages.slice(1).filter((text) => !text.includes('"clientInfo"')),
]

/** What a host makes of a result that its client took. */
function used(input: Buffer): void {
  const value = parseJson(input.toString('utf8'))
  if (!isObject(value)) return
  const { method, result } = value
  if (!isObject(result)) return
  const ignore = (): void => {}
  switch (method) {
    case 'tools/list': {
      assertResult(method, result, ignore)
      const index = new ToolIndex()
      const tools = result.tools.map((tool) => ({ name: `s__${tool.name}`, server: 's', tool }))
      for (const tool of tools) fingerprint(modelTool(tool))
      index.update(tools)
      index.search('add a title')
      judged('tool', result.tools)
      return
    }
    case 'prompts/list':
      assertResult(method, result, ignore)
      judged('prompt', result.prompts)
      return
    case 'resources/list':
      assertResult(method, result, ignore)
      judged('resource', result.resources)
      return
    case 'resources/templates/list':
      assertResult(method, result, ignore)
      judged('template', result.resourceTemplates)
      return
    case 'tools/call':
      assertResult(method, result, ignore)
      if (!Array.isArray(result.content)) return
      toolResult(result, palette)
      fullText(result)
      documentOf(result)
      fitResult(result, 20, () => 'kept')
      return
    case 'resources/read':
      assertResult(method, result, ignore)
      readResult(result, palette)
      previewOf(result.contents, 20)
      return
    case 'prompts/get':
      assertResult(method, result, ignore)
      promptResult(result, palette)
  }
}

function judged(what: 'tool' | 'prompt' | 'resource' | 'template', entries: readonly object[]): void {
  const definitions = new Definitions(redactor)
  const neighbours = neighboursOf('s', new Map([['other', ['add', 'greet']]]))
  for (const entry of entries) scanDefinition(definitions.of(what, entry), neighbours)
}

const forms: [string, ...string[]] = [
  JSON.stringify({
    type: 'object',
    properties: {
      a: {
        type: 'string',
        title: 't',
        description: 'd',
        minLength: 1,
        maxLength: 9,
        format: 'email',
        default: 'd',
      },
      b: { type: 'integer', minimum: 1, maximum: 9, default: 2 },
      c: { type: 'boolean', default: true },
      d: { type: 'string', enum: ['x', 'y'], enumNames: ['X', 'Y'], default: 'x' },
      e: { type: 'string', oneOf: [{ const: 'x', title: 'X' }], default: 'x' },
      f: {
        type: 'array',
        items: { type: 'string', enum: ['x', 'y'] },
        minItems: 1,
        maxItems: 2,
        default: ['x'],
      },
      g: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
      h: { type: 'number', minimum: 0.5 },
    },
    required: ['a', 'f'],
  }),
  '{"type":"object","properties":{}}',
]

function form(input: Buffer): void {
  const value = parseJson(input.toString('utf8'))
  show(value, 'Your password?')
}

/** A form as a person sees it; the client refuses the others. */
function show(schema: unknown, message: string): void {
  if (!isElicitSchema(schema) || checkFormHints(schema) !== undefined) return
  const plan = planForm(schema, message)
  if ('fields' in plan) drawForm(new FormModel(plan.fields, new Map()), 60, 20, palette)
}
