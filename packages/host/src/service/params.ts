import type { JsonObject, SamplingMessage } from '@jackfield/sdk'
import * as z from 'zod'
import { activityKinds } from '../log/store/activity-log.ts'
import { isRecord } from '../shared/json.ts'
import type { HostAnswers, PolicyRule, QuestionKind, ReplayRequest } from '../types/index.ts'
import type { MethodName, Methods } from './contract.ts'
import type { ClientFrame } from './frames.ts'
import type { Checks } from './methods.ts'
import type { HostService } from './service.ts'

const none = z.record(z.string(), z.never())
const text = z.string().max(1_000_000)
const name = z.string().min(1).max(4_096)
const count = z.int().nonnegative()
/** A JSON object that the host validates itself. It is not copied, so that members of any name are kept. */
const object = <T extends object>(): z.ZodType<T> =>
  z.custom<T>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )

const record = object<Record<string, unknown>>()
const strings = z.custom<Record<string, string>>(
  (value) => isRecord(value) && Object.values(value).every((member) => typeof member === 'string'),
  'must be an object of texts',
)

const questionKinds = [
  'approval',
  'result',
  'elicitation',
  'sampling-request',
  'sampling-result',
  'roots',
  'start',
  'input',
  'installation',
  'drift',
  'login',
  'app',
] as const satisfies readonly QuestionKind[]

const ref = z.strictObject({ server: name, uri: name })
const query = z.strictObject({
  filter: text.exactOptional(),
  limit: count.max(100_000).exactOptional(),
  after: count.exactOptional(),
})
const caller = z.enum(['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli'])
const input = z.strictObject({
  text: text.exactOptional(),
  messages: z.array(object<SamplingMessage>()).exactOptional(),
})
const openOptions = z.strictObject({
  id: name.exactOptional(),
  model: name.exactOptional(),
  code: z.boolean().exactOptional(),
  maxCalls: count.exactOptional(),
  context: z.boolean().exactOptional(),
})
const logLevel = z.enum(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
const runRequest = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('call'),
    tool: name,
    arguments: record,
    caller: z.enum(['person', 'cli']).exactOptional(),
    conversation: name.exactOptional(),
    meta: object<JsonObject>().exactOptional(),
    timeoutMs: count.min(1).max(2_147_483_647).exactOptional(),
    logLevel: logLevel.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('read'), server: name, uri: name }),
  z.strictObject({ kind: z.literal('prompt'), prompt: name, arguments: strings }),
  z.strictObject({ kind: z.literal('watch'), server: name, uris: z.array(name).max(1_000) }),
  z.strictObject({ kind: z.literal('examine'), server: name }),
  z.strictObject({ kind: z.literal('reconnect'), server: name }),
  z.strictObject({ kind: z.literal('signIn'), server: name }),
  z.strictObject({ kind: z.literal('replay'), request: object<ReplayRequest>() }),
  z.strictObject({
    kind: z.literal('code'),
    program: text,
    servers: z.array(name).exactOptional(),
    file: name.exactOptional(),
    maxCalls: count.exactOptional(),
  }),
])
const newRun = z.strictObject({
  request: runRequest,
  attached: z.boolean().exactOptional(),
  asks: z.boolean().exactOptional(),
})
const trustItems = z
  .array(
    z.strictObject({
      what: z.enum(['tool', 'prompt', 'resource', 'template', 'instructions']),
      name: z.string(),
    }),
  )
  .exactOptional()

const place = z.strictObject({ file: name, index: count })
const configChange = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), file: name, text }),
  z.strictObject({ kind: z.literal('rule'), at: place.exactOptional(), rule: record.nullable() }),
  z.strictObject({ kind: z.literal('server'), name, entry: record.nullable() }),
  z.strictObject({ kind: z.literal('enable'), server: name, enabled: z.boolean() }),
  z.strictObject({ kind: z.literal('model'), model: name }),
  z.strictObject({
    kind: z.literal('import'),
    servers: z
      .array(z.strictObject({ file: name, name }))
      .min(1)
      .max(500),
  }),
])

/** The schema of every method's parameters. */
const params: { readonly [M in MethodName]: z.ZodType<Methods[M]['params']> } = {
  'host.status': none,
  'host.stop': z.strictObject({ now: z.boolean().exactOptional() }),
  'host.sync': none,
  'surface.attach': z.strictObject({
    name,
    kinds: z.array(z.enum(questionKinds)),
    urlElicitation: z.boolean().exactOptional(),
  }),
  'catalog.tools': z.strictObject({ server: name.exactOptional() }),
  'catalog.prompts': z.strictObject({ server: name.exactOptional() }),
  'catalog.resources': z.strictObject({ server: name.exactOptional() }),
  'catalog.templates': z.strictObject({ server: name.exactOptional() }),
  'catalog.instructions': none,
  'catalog.searchTools': z.strictObject({
    query: text,
    server: name.exactOptional(),
    limit: count.max(1_000).exactOptional(),
  }),
  'catalog.meter': z.strictObject({
    contextTokens: count.exactOptional(),
    conversation: name.exactOptional(),
  }),
  'catalog.complete': z.strictObject({
    server: name,
    params: object<Parameters<HostService['host']['complete']>[1]>(),
  }),
  'servers.list': none,
  'servers.start': z.strictObject({ servers: z.array(name).exactOptional() }),
  'servers.details': z.strictObject({ server: name }),
  'servers.ping': z.strictObject({ server: name }),
  'servers.setLogLevel': z.strictObject({ server: name, level: logLevel }),
  'runs.start': newRun,
  'runs.perform': newRun,
  'runs.get': z.strictObject({ id: name }),
  'runs.wait': z.strictObject({ id: name }),
  'runs.stop': z.strictObject({ id: name }),
  'tasks.list': none,
  'tasks.result': z.strictObject({ id: name }),
  'tasks.cancel': z.strictObject({ id: name }),
  'apps.open': z.strictObject({
    tool: name,
    conversation: name.exactOptional(),
    activity: count.exactOptional(),
  }),
  'apps.request': z.strictObject({ id: name, method: name, params: record }),
  'apps.close': z.strictObject({ id: name }),
  'apps.consents': none,
  'apps.forget': z.strictObject({ identity: name, uri: name }),
  'inbox.list': z.strictObject({
    state: z.enum(['open', 'answered', 'withdrawn', 'lost', 'all']).exactOptional(),
    server: name.exactOptional(),
    limit: count.exactOptional(),
  }),
  'inbox.get': z.strictObject({ id: name }),
  'inbox.answer': z.strictObject({
    id: name,
    answer: object<HostAnswers[QuestionKind]>(),
    seen: text.exactOptional(),
  }),
  'inbox.defer': z.strictObject({ id: name }),
  'inbox.refusal': z.strictObject({ id: name }),
  'inbox.resumed': z.strictObject({ id: name }),
  'conversations.list': z.strictObject({ limit: count.max(1_000).exactOptional() }),
  'conversations.find': z.strictObject({ id: name }),
  'conversations.entries': z.strictObject({ id: name }),
  'conversations.inputs': none,
  'conversations.open': openOptions,
  'conversations.say': z.strictObject({ id: name, input, message: name.max(100).exactOptional() }),
  'conversations.stop': z.strictObject({ id: name }),
  'conversations.cancelCall': z.strictObject({ id: name, call: name }),
  'conversations.unqueue': z.strictObject({ id: name, message: name }),
  'conversations.fork': z.strictObject({ id: name, place: count.exactOptional() }),
  'conversations.setTitle': z.strictObject({ id: name, title: text }),
  'conversations.setModel': z.strictObject({ id: name, model: name }),
  'conversations.switchTools': z.strictObject({ id: name, on: z.boolean(), patterns: z.array(name) }),
  'conversations.summarize': z.strictObject({ id: name }),
  'conversations.compact': z.strictObject({ id: name, summary: text }),
  'conversations.remove': z.strictObject({ id: name }),
  'conversations.calls': z.strictObject({ id: name }),
  'models.list': none,
  'models.providers': none,
  'models.test': z.strictObject({ id: name }),
  'library.tree': none,
  'library.children': z.strictObject({
    path: z.array(text).max(100),
    from: count.exactOptional(),
    limit: count.max(1_000).exactOptional(),
  }),
  'library.under': z.strictObject({ path: z.array(text).max(100) }),
  'library.search': z.strictObject({
    query: text,
    server: name.exactOptional(),
    kinds: z.array(z.enum(['resource', 'template', 'prompt'])).exactOptional(),
    limit: count.max(1_000).exactOptional(),
    content: z.boolean().exactOptional(),
  }),
  'library.preview': z.strictObject({ server: name, uri: name, characters: count.exactOptional() }),
  'library.complete': object<Parameters<HostService['host']['library']['complete']>[0]>(),
  'library.fields': z.strictObject({ uriTemplate: name }),
  'library.expand': z.strictObject({ uriTemplate: name, values: strings }),
  'library.attach': z.strictObject({ conversation: name, refs: z.array(ref).max(200) }),
  'library.attached': z.strictObject({ conversation: name }),
  'library.detach': z.strictObject({ conversation: name, ref: ref.exactOptional() }),
  'library.exclude': z.strictObject({ conversation: name, ref: ref.exactOptional() }),
  'library.diff': z.strictObject({ conversation: name, ref }),
  'library.include': z.strictObject({ conversation: name, budget: count.exactOptional() }),
  'library.withheld': z.strictObject({ refs: z.array(ref).max(100_000) }),
  'library.prompts': none,
  'library.prompt': z.strictObject({ prompt: name, arguments: strings, conversation: name.exactOptional() }),
  'library.promptValues': z.strictObject({ prompt: name }),
  'library.keepPromptValues': z.strictObject({ prompt: name, arguments: strings }),
  'policy.rules': none,
  'policy.grants': none,
  'policy.revoke': z.strictObject({ id: name }),
  'policy.explain': z.strictObject({
    tool: name,
    arguments: record,
    caller: caller.exactOptional(),
    typed: z.boolean().exactOptional(),
    conversation: name.exactOptional(),
  }),
  'policy.hits': z.strictObject({ days: count.exactOptional() }),
  'policy.preview': z.strictObject({ rule: object<PolicyRule>(), days: count.exactOptional() }),
  'config.view': none,
  'config.text': z.strictObject({ file: name }),
  'config.entry': z.strictObject({ server: name }),
  'config.plan': configChange,
  'config.write': z.strictObject({ id: name }),
  'config.found': none,
  'registry.search': z.strictObject({ words: text.max(500), cursor: text.exactOptional() }),
  'registry.review': z.strictObject({
    published: name,
    version: name.exactOptional(),
    name: name.max(200).exactOptional(),
  }),
  'installs.preview': z.strictObject({ id: name, values: strings }),
  'installs.install': z.strictObject({ id: name, values: strings, secrets: strings, hash: name.nullable() }),
  'trust.list': none,
  'trust.get': z.strictObject({ server: name }),
  'trust.accept': z.strictObject({ server: name, items: trustItems }),
  'trust.block': z.strictObject({ server: name, items: trustItems }),
  'trust.reset': z.strictObject({ server: name, items: trustItems }),
  'roots.list': none,
  'roots.add': z.strictObject({ folder: name, name: text.exactOptional() }),
  'roots.remove': z.strictObject({ folder: name }),
  'roots.excluded': none,
  'roots.exclude': z.strictObject({ pattern: name }),
  'roots.include': z.strictObject({ pattern: name }),
  'roots.servers': none,
  'roots.preview': z.strictObject({ server: name }),
  'roots.allow': z.strictObject({ server: name, folders: z.array(name).exactOptional() }),
  'roots.deny': z.strictObject({ server: name }),
  'roots.forget': z.strictObject({ server: name }),
  'sampling.usage': none,
  'sampling.grants': none,
  'sampling.revoke': z.strictObject({ id: name }),
  'sampling.preview': object<Parameters<HostService['host']['sampling']['preview']>[0]>(),
  'secrets.names': none,
  'secrets.set': z.strictObject({ name, value: text }),
  'secrets.remove': z.strictObject({ name }),
  'secrets.missing': none,
  'secrets.list': none,
  'consents.list': none,
  'consents.needed': z.strictObject({ server: name }),
  'consents.forget': z.strictObject({ server: name }),
  'logins.wait': none,
  'logins.signOut': z.strictObject({ server: name }),
  'activity.list': z.strictObject({
    id: count.exactOptional(),
    server: name.exactOptional(),
    kind: z.enum(activityKinds).exactOptional(),
    limit: count.max(100_000).exactOptional(),
  }),
  'activity.verify': z.strictObject({ head: text.exactOptional() }),
  'trace.list': query,
  'trace.ids': query.extend({ limit: count.exactOptional() }),
  'trace.rows': z.strictObject({ ids: z.array(count).max(1_000) }),
  'trace.bins': z.strictObject({
    filter: text.exactOptional(),
    fromMs: z.number().exactOptional(),
    toMs: z.number().exactOptional(),
    bins: count,
  }),
  'trace.get': z.strictObject({ id: count }),
  'trace.pairs': query,
  'trace.tree': query,
  'trace.timeline': query,
  'trace.statistics': query,
  'trace.counters': none,
  'trace.request': z.strictObject({ id: count }),
  'trace.export': z.strictObject({
    format: z.enum(['jsonl', 'har', 'otlp', 'recording']),
    filter: text.exactOptional(),
  }),
  'code.types': none,
  'results.read': z.strictObject({
    id: name,
    path: text.exactOptional(),
    from: count.exactOptional(),
    characters: count.exactOptional(),
  }),
}

const callNumber = z.int().positive()
const word = z.string().max(1_000)
const clientFrame: z.ZodType<ClientFrame> = z.union([
  // The most frequent first: the union tries them in order.
  z.strictObject({ call: callNumber, method: word, params: z.unknown() }),
  z.strictObject({ hello: z.strictObject({ client: word.min(8), name: word, build: word }) }),
  z.strictObject({ stop: callNumber }),
  z.strictObject({
    subscribe: word,
    have: z.strictObject({ epoch: word, seq: z.int().nonnegative() }).exactOptional(),
  }),
  z.strictObject({ unsubscribe: word }),
  z.strictObject({ bye: z.literal(true) }),
])

/** Validators for clients of other processes, from zod schemas. */
export const checks: Checks = {
  isFrame: (value): value is ClientFrame => clientFrame.safeParse(value).success,
  isParams: <M extends MethodName>(method: M, value: unknown): value is Methods[M]['params'] =>
    params[method].safeParse(value).success,
  faultOf(method, value) {
    const { error } = params[method].safeParse(value)
    return error === undefined ? '' : z.prettifyError(error)
  },
}
