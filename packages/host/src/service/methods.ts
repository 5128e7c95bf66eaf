import { McpError, type SamplingMessage } from '@jackfield/sdk'
import * as z from 'zod'
import { isRecord } from '../shared/json.ts'
import type { HostAnswers, PolicyRule, QuestionKind, ReplayRequest } from '../types/index.ts'
import type { MethodName, Methods } from './contract.ts'
import type { HostService } from './service.ts'

/** Who calls a method. */
export interface Caller {
  /** For the person: `jackfield chat`, `Firefox on lapis`. */
  readonly name: string
  /** Aborted when the call is no longer wanted, or its client is gone. */
  readonly signal: AbortSignal
  /** Aborted when the client is gone for good. */
  readonly gone: AbortSignal
  /** Calls `end` once the client is gone. */
  onGone(end: () => void): void
}

/** One method: what it takes, and what it does. */
export interface Method<Params, Result> {
  readonly params: z.ZodType<Params>
  /** Whether a repeated call must not do it twice. */
  readonly hasEffect: boolean
  run(params: Params, service: HostService, caller: Caller): Result | Promise<Result>
}

type Run<Params, Result> = Method<Params, Result>['run']

function read<Params, Result>(params: z.ZodType<Params>, run: Run<Params, Result>): Method<Params, Result> {
  return { params, hasEffect: false, run }
}

function effect<Params, Result>(params: z.ZodType<Params>, run: Run<Params, Result>): Method<Params, Result> {
  return { params, hasEffect: true, run }
}

const none = z.record(z.string(), z.never())
const text = z.string().max(1_000_000)
const name = z.string().min(1).max(4_096)
const count = z.int().nonnegative()
/** A JSON object that the host checks itself. It is not copied, so that every member stays, whatever its name. */
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
  'install',
  'drift',
  'login',
] as const satisfies readonly QuestionKind[]

const ref = z.object({ server: name, uri: name })
const query = z.object({
  filter: text.exactOptional(),
  limit: count.max(100_000).exactOptional(),
  after: count.exactOptional(),
})
const caller = z.enum(['chat', 'code', 'app', 'sampling', 'gateway', 'person', 'cli'])
const saying = z.object({
  text: text.exactOptional(),
  messages: z.array(object<SamplingMessage>()).exactOptional(),
})
const openOptions = z.object({
  id: name.exactOptional(),
  model: name.exactOptional(),
  code: z.boolean().exactOptional(),
  maxCalls: count.exactOptional(),
  context: z.boolean().exactOptional(),
})
const runRequest = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('call'),
    tool: name,
    arguments: record,
    caller: z.enum(['person', 'cli']).exactOptional(),
    conversation: name.exactOptional(),
  }),
  z.object({ kind: z.literal('read'), server: name, uri: name }),
  z.object({ kind: z.literal('prompt'), prompt: name, arguments: strings }),
  z.object({ kind: z.literal('examine'), server: name }),
  z.object({ kind: z.literal('reconnect'), server: name }),
  z.object({ kind: z.literal('signIn'), server: name }),
  z.object({ kind: z.literal('replay'), request: object<ReplayRequest>() }),
  z.object({ kind: z.literal('code'), program: text, servers: z.array(name).exactOptional() }),
])
const trustItems = z
  .array(
    z.object({
      what: z.enum(['tool', 'prompt', 'resource', 'template', 'instructions']),
      name: z.string(),
    }),
  )
  .exactOptional()
const activityKinds = z.enum([
  'connection',
  'call',
  'read',
  'prompt',
  'approval',
  'elicitation',
  'sampling',
  'roots',
  'model',
  'change',
  'result',
  'install',
  'drift',
  'login',
  'code',
  'conversation',
])

/** Every method of the contract: the check of its parameters, and what it does. */
export const methods: { readonly [M in MethodName]: Method<Methods[M]['params'], Methods[M]['result']> } = {
  'host.status': read(none, (_, service) => service.status()),
  'host.stop': effect(z.object({ now: z.boolean().exactOptional() }), ({ now = false }, service) =>
    service.requestStop(now),
  ),

  'host.sync': effect(none, async (_, service) => {
    await service.sync()
    return null
  }),

  'surface.attach': effect(
    z.object({
      name,
      kinds: z.array(z.enum(questionKinds)),
      urlElicitation: z.boolean().exactOptional(),
      inputs: z.boolean().exactOptional(),
    }),
    (info, service, { onGone }) => {
      onGone(service.surfaces.attach(info))
      // What a new server says about itself may have waited for a person.
      service.host.askAgain()
      return null
    },
  ),

  'catalog.tools': read(z.object({ server: name.exactOptional() }), ({ server }, { host }) =>
    host.tools().filter((entry) => server === undefined || entry.server === server),
  ),
  'catalog.prompts': read(z.object({ server: name.exactOptional() }), ({ server }, { host }) =>
    host.prompts().filter((entry) => server === undefined || entry.server === server),
  ),
  'catalog.resources': read(z.object({ server: name.exactOptional() }), ({ server }, { host }) =>
    host.resources().filter((entry) => server === undefined || entry.server === server),
  ),
  'catalog.templates': read(z.object({ server: name.exactOptional() }), ({ server }, { host }) =>
    host.templates().filter((entry) => server === undefined || entry.server === server),
  ),
  'catalog.instructions': read(none, (_, { host }) => host.instructions()),
  'catalog.searchTools': read(
    z.object({ query: text, server: name.exactOptional(), limit: count.max(1_000).exactOptional() }),
    ({ query: words, ...options }, { host }) => host.scale.search(words, options),
  ),
  'catalog.meter': read(z.object({ contextTokens: count.exactOptional() }), (options, { host }) =>
    host.scale.meter(options),
  ),
  'catalog.complete': read(
    z.object({ server: name, params: object<Parameters<HostService['host']['complete']>[1]>() }),
    ({ server, params }, { host }, { signal }) => host.complete(server, params, { signal }),
  ),

  'servers.list': read(none, (_, service) => service.servers()),
  'servers.start': effect(
    z.object({ servers: z.array(name).exactOptional() }),
    async ({ servers }, service, { signal }) => {
      await service.start(servers, signal)
      return null
    },
  ),

  'runs.start': effect(
    z.object({
      request: runRequest,
      attached: z.boolean().exactOptional(),
      asks: z.boolean().exactOptional(),
    }),
    ({ request, attached = false, asks = true }, service, { name: by, gone }) =>
      service.startRun(request, { by, asks, ...(attached && { signal: gone }) }),
  ),
  'runs.get': read(z.object({ id: name }), ({ id }, { runs }) => runs.get(id)),
  'runs.wait': read(z.object({ id: name }), ({ id }, { runs }, { signal }) => runs.wait(id, signal)),
  'runs.stop': effect(z.object({ id: name }), ({ id }, { runs }, { name: by }) => {
    runs.stop(id, by)
    return null
  }),

  'inbox.list': read(
    z.object({
      state: z.enum(['open', 'answered', 'withdrawn', 'lost', 'all']).exactOptional(),
      server: name.exactOptional(),
      limit: count.exactOptional(),
    }),
    (filter, { host }) => host.inbox.list(filter),
  ),
  'inbox.get': read(z.object({ id: name }), ({ id }, { host }) => host.inbox.get(id) ?? null),
  'inbox.answer': effect(
    z.object({ id: name, answer: object<HostAnswers[QuestionKind]>(), seen: text.exactOptional() }),
    ({ id, answer, seen }, service, { name: by }) => {
      service.answer(id, answer, by, seen)
      return null
    },
  ),
  'inbox.defer': effect(z.object({ id: name }), ({ id }, { surfaces }) => surfaces.defer(id)),
  'inbox.refusal': read(z.object({ id: name }), ({ id }, { host }) => host.inbox.refusal(id) ?? null),
  'inbox.resumed': read(
    z.object({ id: name }),
    async ({ id }, { host }) => (await host.inbox.resumed(id)) ?? null,
  ),

  'inputs.answer': effect(
    z.object({ id: name, value: text.exactOptional() }),
    ({ id, value }, { inputs }) => {
      inputs.answer(id, value)
      return null
    },
  ),

  'conversations.list': read(z.object({ limit: count.max(1_000).exactOptional() }), (options, { host }) =>
    host.conversations.list(options),
  ),
  'conversations.entries': read(z.object({ id: name }), ({ id }, { host }) => host.conversations.entries(id)),
  'conversations.open': effect(openOptions, (options, { conversations }) => conversations.open(options)),
  'conversations.say': effect(
    z.object({ id: name, said: saying }),
    async ({ id, said }, { conversations }, { name: by }) => {
      return (await conversations.get(id).say(said, by)) ?? null
    },
  ),
  'conversations.stop': effect(z.object({ id: name }), ({ id }, { conversations }, { name: by }) =>
    conversations.get(id).stop(by),
  ),
  'conversations.unqueue': effect(
    z.object({ id: name, message: name }),
    ({ id, message }, { conversations }) => conversations.get(id).unqueue(message),
  ),
  'conversations.fork': effect(
    z.object({ id: name, place: count.exactOptional() }),
    ({ id, place }, { host }) => host.conversations.fork(id, place),
  ),
  'conversations.setTitle': effect(
    z.object({ id: name, title: text }),
    ({ id, title }, { conversations }) => {
      conversations.get(id).setTitle(title)
      return null
    },
  ),
  'conversations.setModel': effect(
    z.object({ id: name, model: name }),
    ({ id, model }, { conversations }) => {
      conversations.get(id).setModel(model)
      return null
    },
  ),
  'conversations.switchTools': effect(
    z.object({ id: name, on: z.boolean(), patterns: z.array(name) }),
    ({ id, on, patterns }, { conversations }) => {
      conversations.get(id).switchTools(on, patterns)
      return null
    },
  ),
  'conversations.summarize': effect(z.object({ id: name }), ({ id }, { conversations }, { name: by }) =>
    conversations.get(id).summarize(by),
  ),
  'conversations.compact': effect(
    z.object({ id: name, summary: text }),
    ({ id, summary }, { conversations }) => {
      conversations.get(id).compact(summary)
      return null
    },
  ),
  'conversations.remove': effect(z.object({ id: name }), ({ id }, { host }) => {
    host.conversations.remove(id)
    return null
  }),
  'models.list': read(none, (_, service) => service.listModels()),

  'library.tree': read(none, (_, { host }) => host.library.tree()),
  'library.search': read(
    z.object({
      query: text,
      server: name.exactOptional(),
      kinds: z.array(z.enum(['resource', 'template', 'prompt'])).exactOptional(),
      limit: count.max(1_000).exactOptional(),
      content: z.boolean().exactOptional(),
    }),
    ({ query: words, ...options }, { host }) => host.library.search(words, options),
  ),
  'library.preview': read(
    z.object({ server: name, uri: name, characters: count.exactOptional() }),
    ({ server, uri, ...options }, { host }, { signal }) =>
      host.library.preview(server, uri, { ...options, signal }),
  ),
  'library.complete': read(
    object<Parameters<HostService['host']['library']['complete']>[0]>(),
    async (field, { host }, { signal }) => (await host.library.complete(field, { signal })) ?? null,
  ),
  'library.fields': read(z.object({ uriTemplate: name }), ({ uriTemplate }, { host }) =>
    host.library.fields(uriTemplate),
  ),
  'library.expand': read(
    z.object({ uriTemplate: name, values: strings }),
    ({ uriTemplate, values }, { host }) => host.library.expand(uriTemplate, values),
  ),
  'library.attach': effect(
    z.object({ conversation: name, refs: z.array(ref).max(200) }),
    ({ conversation, refs }, { host }, { signal }) => host.library.attach(conversation, refs, { signal }),
  ),
  'library.attached': read(z.object({ conversation: name }), ({ conversation }, { host }) =>
    host.library.attached(conversation),
  ),
  'library.detach': effect(z.object({ conversation: name, ref: ref.exactOptional() }), (given, { host }) => {
    host.library.detach(given.conversation, given.ref)
    return null
  }),
  'library.diff': read(z.object({ conversation: name, ref }), (given, { host }, { signal }) =>
    host.library.diff(given.conversation, given.ref, { signal }),
  ),
  'library.include': effect(
    z.object({ conversation: name }),
    ({ conversation }, { conversations }, { signal }) =>
      conversations.get(conversation).includeContext(signal),
  ),
  'library.prompts': read(none, (_, { host }) => host.library.prompts()),
  'library.prompt': read(
    z.object({ prompt: name, arguments: strings, conversation: name.exactOptional() }),
    ({ prompt, arguments: args, ...options }, { host }, { signal }) =>
      host.library.prompt(prompt, args, { ...options, signal }),
  ),

  'policy.rules': read(none, (_, { host }) => ({
    rules: host.policy.rules(),
    defaultVerdict: host.policy.defaultVerdict,
  })),
  'policy.grants': read(none, (_, { host }) => host.policy.grants()),
  'policy.revoke': effect(z.object({ id: name }), ({ id }, { host }) => host.policy.revoke(id)),
  'policy.explain': read(
    z.object({
      tool: name,
      arguments: record,
      caller: caller.exactOptional(),
      typed: z.boolean().exactOptional(),
      conversation: name.exactOptional(),
    }),
    ({ tool, arguments: args, ...options }, { host }) => host.policy.explain(tool, args, options),
  ),
  'policy.preview': read(
    z.object({ rule: object<PolicyRule>(), days: count.exactOptional() }),
    ({ rule, ...options }, { host }) => host.policy.preview(rule, options),
  ),

  'trust.list': read(none, (_, { host }) => host.trust.servers()),
  'trust.get': read(z.object({ server: name }), ({ server }, { host }) => host.trust.server(server)),
  'trust.accept': effect(z.object({ server: name, items: trustItems }), ({ server, items }, { host }) =>
    host.trust.accept(server, items),
  ),
  'trust.block': effect(z.object({ server: name, items: trustItems }), ({ server, items }, { host }) =>
    host.trust.block(server, items),
  ),
  'trust.reset': effect(z.object({ server: name, items: trustItems }), ({ server, items }, { host }) =>
    host.trust.reset(server, items),
  ),

  'roots.list': read(none, (_, { host }) => host.roots.list()),
  'roots.add': effect(
    z.object({ folder: name, name: text.exactOptional() }),
    ({ folder, name: label }, { host }) => host.roots.add(folder, label),
  ),
  'roots.remove': effect(z.object({ folder: name }), ({ folder }, { host }) => host.roots.remove(folder)),
  'roots.excluded': read(none, (_, { host }) => host.roots.excluded()),
  'roots.exclude': effect(z.object({ pattern: name }), ({ pattern }, { host }) => {
    host.roots.exclude(pattern)
    return null
  }),
  'roots.include': effect(z.object({ pattern: name }), ({ pattern }, { host }) =>
    host.roots.include(pattern),
  ),
  'roots.servers': read(none, (_, { host }) => host.roots.servers()),
  'roots.preview': read(z.object({ server: name }), ({ server }, { host }) => host.roots.preview(server)),
  'roots.allow': effect(
    z.object({ server: name, folders: z.array(name).exactOptional() }),
    ({ server, folders }, { host }, { name: by }) => host.roots.allow(server, by, folders),
  ),
  'roots.deny': effect(z.object({ server: name }), async ({ server }, { host }, { name: by }) => {
    await host.roots.deny(server, by)
    return null
  }),
  'roots.forget': effect(z.object({ server: name }), ({ server }, { host }) => host.roots.forget(server)),

  'sampling.usage': read(none, (_, { host }) => host.sampling.usage()),
  'sampling.grants': read(none, (_, { host }) => host.sampling.grants()),
  'sampling.revoke': effect(z.object({ id: name }), ({ id }, { host }) => host.sampling.revoke(id)),
  'sampling.preview': read(
    object<Parameters<HostService['host']['sampling']['preview']>[0]>(),
    (params, { host }) => host.sampling.preview(params),
  ),

  'secrets.names': read(none, (_, { host }) => host.secrets.names()),
  'secrets.set': effect(z.object({ name, value: text }), async ({ name: secret, value }, { host }) => {
    await host.secrets.set(secret, value)
    return null
  }),
  'secrets.remove': effect(z.object({ name }), ({ name: secret }, { host }) => host.secrets.remove(secret)),
  'secrets.missing': read(none, (_, { host }) => host.secrets.missing()),

  'consents.list': read(none, (_, { host }) => host.consents.list()),
  'consents.needed': read(
    z.object({ server: name }),
    async ({ server }, { host }) => (await host.consents.needed(server)) ?? null,
  ),
  'consents.forget': effect(z.object({ server: name }), ({ server }, { host }) =>
    host.consents.forget(server),
  ),

  'logins.wait': read(none, async (_, { host }) => {
    const logins = [...host.connections.keys()].flatMap((server) => host.logins.pending(server) ?? [])
    await Promise.allSettled(logins)
    return logins.length > 0
  }),
  'logins.signOut': effect(z.object({ server: name }), ({ server }, { host }) => host.logins.signOut(server)),

  'activity.list': read(
    z.object({
      id: count.exactOptional(),
      server: name.exactOptional(),
      kind: activityKinds.exactOptional(),
      limit: count.max(100_000).exactOptional(),
    }),
    (filter, { host }) => host.activity(filter),
  ),
  'activity.verify': read(z.object({ head: text.exactOptional() }), (options, { host }) =>
    host.verifyActivity(options),
  ),

  'trace.list': read(query, (given, { host }) => host.trace.list(given)),
  'trace.get': read(z.object({ id: count }), ({ id }, { host }) => host.trace.get(id) ?? null),
  'trace.tree': read(query, (given, { host }) => host.trace.tree(given)),
  'trace.timeline': read(query, (given, { host }) => host.trace.timeline(given)),
  'trace.statistics': read(query, (given, { host }) => host.trace.statistics(given)),
  'trace.counters': read(none, (_, { host }) => host.trace.counters()),
  'trace.request': read(z.object({ id: count }), ({ id }, { host }) => host.trace.request(id)),

  'results.read': read(
    z.object({
      id: name,
      path: text.exactOptional(),
      from: count.exactOptional(),
      characters: count.exactOptional(),
    }),
    ({ id, ...part }, { host }) => host.results.read(id, part),
  ),
}

/**
 * Runs a method by its name with parameters of a client.
 * @throws McpError 'INVALID' where there is no such method or the parameters do not fit, with the place and the reason
 */
export async function runMethod(
  method: string,
  params: unknown,
  service: HostService,
  caller: Caller,
): Promise<unknown> {
  const found: Method<unknown, unknown> | undefined = isMethod(method) ? methods[method] : undefined
  if (found === undefined) throw new McpError('INVALID', `There is no method "${method}".`)
  const checked = found.params.safeParse(params)
  if (!checked.success)
    throw new McpError('INVALID', `The parameters of ${method} do not fit: ${z.prettifyError(checked.error)}`)
  return await found.run(checked.data, service, caller)
}

export function isMethod(method: string): method is MethodName {
  return Object.hasOwn(methods, method)
}
