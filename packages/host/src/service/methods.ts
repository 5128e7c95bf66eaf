import { McpError } from '@jackfield/sdk'
import type { Host, LibraryPrompt } from '../types/index.ts'
import type { MethodName, Methods } from './contract.ts'
import type { ClientFrame } from './frames.ts'
import { libraryPage, resourcesUnder } from './library-page.ts'
import type { HostService } from './service.ts'

/** The caller of a method. */
export interface Caller {
  /** For users: `jackfield chat`, `Firefox on lapis`. */
  readonly name: string
  /** Aborted when the call is no longer needed, or its client disconnected. */
  readonly signal: AbortSignal
  /** Aborted when the client disconnected for good. The same object for every call of a client. */
  readonly closed: AbortSignal
}

type Run<M extends MethodName> = (
  params: Methods[M]['params'],
  service: HostService,
  caller: Caller,
) => Methods[M]['result'] | Promise<Methods[M]['result']>

/** The result of a method without one. */
const toNull = (_work: unknown): null => null

const methods: { readonly [M in MethodName]: Run<M> } = {
  'host.status': (_, service) => service.status(),
  'host.stop': ({ now = false }, service) => service.requestStop(now),
  'host.sync': async (_, service) => toNull(await service.sync()),
  'surface.attach': (info, service, { closed }) => {
    service.surfaces.attach(info, closed)
    service.host.askAgain(info.kinds)
    return null
  },
  'catalog.tools': ({ server }, { host }) => ofServer(host.tools(), server),
  'catalog.prompts': ({ server }, { host }) => ofServer(host.prompts(), server),
  'catalog.resources': ({ server }, { host }) => ofServer(host.resources(), server),
  'catalog.templates': ({ server }, { host }) => ofServer(host.templates(), server),
  'catalog.instructions': (_, { host }) => host.instructions(),
  'catalog.searchTools': ({ query: words, ...options }, { host }) => host.toolSearch.search(words, options),
  'catalog.meter': ({ conversation, ...options }, { host, conversations }) => {
    const live = conversation === undefined ? undefined : conversations.get(conversation)
    return host.toolSearch.meter({
      ...options,
      ...(live !== undefined && { isOn: (tool) => live.isToolOn(tool) }),
    })
  },
  'catalog.complete': ({ server, params }, { host }, { signal }) => host.complete(server, params, { signal }),
  'servers.list': (_, service) => service.servers(),
  'servers.start': async ({ servers }, service, { signal }) => toNull(await service.start(servers, signal)),
  'servers.details': ({ server }, { host }) => host.details(server) ?? null,
  'servers.ping': ({ server }, { host }, { signal }) => host.ping(server, { signal }),
  'servers.setLogLevel': async ({ server, level }, { host }) => toNull(await host.setLogLevel(server, level)),
  'runs.start': ({ request, attached = false, asks = true }, service, { name: by, closed }) =>
    service.startRun(request, { by, asks, ...(attached && { signal: closed }) }),
  'runs.perform': async (
    { request, attached = false, asks = true },
    service,
    { name: by, signal, closed },
  ) => {
    const { runs } = service
    const id = service.startRun(request, { by, asks, ...(attached && { signal: closed }) })
    const stop = (): void => {
      if (!closed.aborted) runs.stop(id, by)
    }
    signal.addEventListener('abort', stop)
    try {
      return await runs.wait(id)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  },
  'runs.get': ({ id }, { runs }) => runs.get(id),
  'runs.wait': ({ id }, { runs }, { signal }) => runs.wait(id, signal),
  'runs.stop': ({ id }, { runs }, { name: by }) => toNull(runs.stop(id, by)),
  'tasks.list': (_, { host }) => host.tasks.list(),
  'tasks.result': ({ id }, { host }, { signal }) => host.tasks.result(id, { signal }),
  'tasks.cancel': async ({ id }, { host }) => toNull(await host.tasks.cancel(id)),
  'apps.open': ({ tool, ...options }, { host }, { signal, closed }) =>
    host.apps.open(tool, { ...options, signal, closed }),
  'apps.request': ({ id, ...request }, { host, conversations }, { signal, name: by }) =>
    host.apps.request(id, request, {
      signal,
      say: (conversation, text) => {
        // The end of the turn is visible in the conversation.
        conversations
          .get(conversation)
          .say({ text }, by)
          .catch(() => {})
      },
    }),
  'apps.close': ({ id }, { host }) => toNull(host.apps.close(id)),
  'apps.consents': (_, { host }) => host.apps.consents(),
  'apps.forget': ({ identity, uri }, { host }) => host.apps.forget(identity, uri),
  'inbox.list': (filter, service) => service.questions(filter),
  'inbox.get': ({ id }, service) => service.question(id) ?? null,
  'inbox.answer': ({ id, answer, seen }, service, { name: by }) =>
    toNull(service.answer(id, answer, by, seen)),
  'inbox.defer': ({ id }, { surfaces }) => surfaces.defer(id),
  'inbox.refusal': ({ id }, { host }) => host.inbox.refusal(id) ?? null,
  'inbox.resumed': async ({ id }, { host }) => (await host.inbox.resumed(id)) ?? null,
  'conversations.list': (options, { host }) => host.conversations.list(options),
  'conversations.find': ({ id }, { host }) => host.conversations.find(id),
  'conversations.entries': ({ id }, { host }) => host.conversations.entries(id),
  'conversations.inputs': (_, { conversations }) => conversations.inputs(),
  'conversations.open': (options, { conversations }) => conversations.open(options),
  'conversations.say': async ({ id, input, message }, { conversations }, { name: by }) => {
    return (await conversations.get(id).say(input, by, message)) ?? null
  },
  'conversations.stop': ({ id }, { conversations }, { name: by }) => conversations.get(id).stop(by),
  'conversations.cancelCall': ({ id, call }, { conversations }) => conversations.get(id).cancelCall(call),
  'conversations.unqueue': ({ id, message }, { conversations }) => conversations.get(id).unqueue(message),
  'conversations.fork': ({ id, place }, service) => {
    const copy = service.host.conversations.fork(id, place)
    service.conversationsChanged()
    return copy
  },
  'conversations.setTitle': ({ id, title }, { conversations }) =>
    toNull(conversations.get(id).setTitle(title)),
  'conversations.setModel': ({ id, model }, { conversations }) =>
    toNull(conversations.get(id).setModel(model)),
  'conversations.switchTools': ({ id, on, patterns }, { conversations }) =>
    toNull(conversations.get(id).switchTools(on, patterns)),
  'conversations.summarize': ({ id }, { conversations }, { name: by }) => conversations.get(id).summarize(by),
  'conversations.compact': ({ id, summary }, { conversations }) =>
    toNull(conversations.get(id).compact(summary)),
  'conversations.remove': ({ id }, service) => {
    service.host.conversations.remove(id)
    service.conversationsChanged()
    return null
  },
  'conversations.calls': ({ id }, { conversations }) => conversations.get(id).calls,
  'models.list': (_, service) => service.listModels(),
  'models.providers': (_, service) => service.modelProviders(),
  'models.test': ({ id }, service, { signal }) => service.testModel(id, signal),
  'library.tree': (_, { host }) => host.library.tree(),
  'library.children': ({ path, ...page }, { host }) => libraryPage(host.library.tree(), path, page),
  'library.under': ({ path }, { host }) => resourcesUnder(host.library.tree(), path),
  'library.search': ({ query: words, ...options }, { host }) => host.library.search(words, options),
  'library.preview': ({ server, uri, ...options }, { host }, { signal }) =>
    host.library.preview(server, uri, { ...options, signal }),
  'library.complete': async (field, { host }, { signal }) =>
    (await host.library.complete(field, { signal })) ?? null,
  'library.fields': ({ uriTemplate }, { host }) => host.library.fields(uriTemplate),
  'library.expand': ({ uriTemplate, values }, { host }) => host.library.expand(uriTemplate, values),
  'library.attach': ({ conversation, refs }, { host }, { signal }) =>
    host.library.attach(conversation, refs, { signal }),
  'library.attached': ({ conversation }, { host }) => host.library.attached(conversation),
  'library.detach': (given, { host }) => toNull(host.library.detach(given.conversation, given.ref)),
  'library.exclude': (given, { host }) => toNull(host.library.exclude(given.conversation, given.ref)),
  'library.diff': (given, { host }, { signal }) =>
    host.library.diff(given.conversation, given.ref, { signal }),
  'library.include': ({ conversation, budget }, { conversations }, { signal }) =>
    conversations.get(conversation).includeContext(signal, budget),
  'library.withheld': ({ refs }, { host }) =>
    refs.map(({ server, uri }) => host.library.withheld(server, uri) ?? null),
  'library.prompts': (_, { host }) => host.library.prompts(),
  'library.prompt': ({ prompt, arguments: args, ...options }, { host }, { signal }) =>
    host.library.prompt(prompt, args, { ...options, signal }),
  'library.promptValues': ({ prompt }, { host }) => host.promptValues.of(promptNamed(prompt, host)),
  'library.keepPromptValues': ({ prompt, arguments: args }, { host }) =>
    toNull(host.promptValues.keep(promptNamed(prompt, host), args)),
  'policy.rules': (_, { host }) => ({
    rules: host.policy.rules(),
    defaultVerdict: host.policy.defaultVerdict,
  }),
  'policy.grants': (_, { host }) => host.policy.grants(),
  'policy.revoke': ({ id }, { host }) => host.policy.revoke(id),
  'policy.explain': ({ tool, arguments: args, ...options }, { host }) =>
    host.policy.explain(tool, args, options),
  'policy.hits': (options, { host }) => host.policy.hits(options),
  'policy.preview': ({ rule, ...options }, { host }) => host.policy.preview(rule, options),
  'config.view': (_, service) => service.configuration.view(),
  'config.text': ({ file }, service) => service.configuration.text(file),
  'config.entry': ({ server }, service) => service.configuration.entry(server),
  'config.plan': (change, service) => service.configuration.plan(change),
  'config.write': ({ id }, service) => service.configuration.write(id),
  'config.found': (_, service) => service.configuration.found(),
  'registry.search': ({ words, ...options }, service, { signal }) =>
    service.installs.search(words, { ...options, signal }),
  'registry.review': ({ published, ...options }, service, { signal }) =>
    service.installs.review(published, { ...options, signal }),
  'installs.preview': ({ id, values }, service) => service.installs.preview(id, values),
  'installs.install': ({ id, values, ...options }, service, { name: by }) =>
    service.installs.install(id, values, { ...options, by }),
  'trust.list': (_, { host }) => host.trust.servers(),
  'trust.get': ({ server }, { host }) => host.trust.server(server),
  'trust.accept': ({ server, items }, { host }) => host.trust.accept(server, items),
  'trust.block': ({ server, items }, { host }) => host.trust.block(server, items),
  'trust.reset': ({ server, items }, { host }) => host.trust.reset(server, items),
  'roots.list': (_, { host }) => host.roots.list(),
  'roots.add': ({ folder, name: label }, { host }) => host.roots.add(folder, label),
  'roots.remove': ({ folder }, { host }) => host.roots.remove(folder),
  'roots.excluded': (_, { host }) => host.roots.excluded(),
  'roots.exclude': ({ pattern }, { host }) => toNull(host.roots.exclude(pattern)),
  'roots.include': ({ pattern }, { host }) => host.roots.include(pattern),
  'roots.servers': (_, { host }) => host.roots.servers(),
  'roots.preview': ({ server }, { host }) => host.roots.preview(server),
  'roots.allow': ({ server, folders }, { host }, { name: by }) => host.roots.allow(server, by, folders),
  'roots.deny': async ({ server }, { host }, { name: by }) => toNull(await host.roots.deny(server, by)),
  'roots.forget': ({ server }, { host }) => host.roots.forget(server),
  'sampling.usage': (_, { host }) => host.sampling.usage(),
  'sampling.grants': (_, { host }) => host.sampling.grants(),
  'sampling.revoke': ({ id }, { host }) => host.sampling.revoke(id),
  'sampling.preview': (params, { host }) => host.sampling.preview(params),
  'secrets.names': (_, { host }) => host.secrets.names(),
  'secrets.set': async ({ name: secret, value }, { host }) => toNull(await host.secrets.set(secret, value)),
  'secrets.remove': ({ name: secret }, { host }) => host.secrets.remove(secret),
  'secrets.missing': (_, { host }) => host.secrets.missing(),
  'secrets.list': (_, service) => service.listSecrets(),
  'consents.list': (_, { host }) => host.consents.list(),
  'consents.needed': async ({ server }, { host }) => (await host.consents.needed(server)) ?? null,
  'consents.forget': ({ server }, { host }) => host.consents.forget(server),
  'logins.wait': async (_, { host }) => {
    const logins = [...host.connections.keys()].flatMap((server) => host.logins.pending(server) ?? [])
    await Promise.allSettled(logins)
    return logins.length > 0
  },
  'logins.signOut': ({ server }, { host }) => host.logins.signOut(server),
  'activity.list': (filter, { host }) => host.activity(filter),
  'activity.verify': (options, { host }) => host.verifyActivity(options),
  'trace.list': (given, { host }) => host.trace.list(given),
  'trace.ids': (given, { host }) => host.trace.ids(given),
  'trace.rows': ({ ids }, { host }) => host.trace.rows(ids),
  'trace.bins': (given, { host }) => host.trace.bins(given),
  'trace.get': ({ id }, { host }) => host.trace.get(id) ?? null,
  'trace.pairs': (given, { host }) => host.trace.pairs(given),
  'trace.tree': (given, { host }) => host.trace.tree(given),
  'trace.timeline': (given, { host }) => host.trace.timeline(given),
  'trace.statistics': (given, { host }) => host.trace.statistics(given),
  'trace.counters': (_, { host }) => host.trace.counters(),
  'trace.request': ({ id }, { host }) => host.trace.request(id),
  'trace.export': ({ format, filter }, { host, downloads }) => downloads.offer(host.trace, format, filter),
  'code.types': (_, { host }) => host.code.types(),
  'results.read': ({ id, ...part }, { host }) => host.results.read(id, part),
}

function ofServer<T extends { server: string }>(entries: readonly T[], server: string | undefined): T[] {
  return entries.filter((entry) => server === undefined || entry.server === server)
}

/** A prompt by its command or its qualified name. */
function promptNamed(name: string, { library }: Host): LibraryPrompt {
  const match = library.prompts().find((prompt) => prompt.command === name || prompt.name === name)
  if (match === undefined) throw new McpError('NOT_FOUND', `There is no prompt "${name}".`)
  return match
}

/** Validators of client parameters. */
export interface Checks {
  isFrame(value: unknown): value is ClientFrame
  isParams<M extends MethodName>(method: M, value: unknown): value is Methods[M]['params']
  /** Why parameters are invalid: path and reason. */
  faultOf(method: MethodName, value: unknown): string
}

/** For a client in the same process, whose types the compiler checked. */
export const noChecks: Checks = {
  isFrame: (value): value is ClientFrame => typeof value === 'object',
  isParams: <M extends MethodName>(_method: M, value: unknown): value is Methods[M]['params'] =>
    typeof value === 'object',
  faultOf: () => 'they must be an object',
}

/**
 * Runs a method by name with a client's parameters.
 * @throws McpError 'INVALID' if there is no such method or the parameters are invalid, with the path and the reason
 */
export async function runMethod(
  method: string,
  params: unknown,
  checks: Checks,
  service: HostService,
  caller: Caller,
): Promise<unknown> {
  if (!isMethod(method)) throw new McpError('INVALID', `There is no method "${method}".`)
  return await run(method, params, checks, service, caller)
}

function run<M extends MethodName>(
  method: M,
  params: unknown,
  checks: Checks,
  service: HostService,
  caller: Caller,
): Methods[M]['result'] | Promise<Methods[M]['result']> {
  if (!checks.isParams(method, params))
    throw new McpError('INVALID', `The parameters of ${method} do not fit: ${checks.faultOf(method, params)}`)
  const work: Run<M> = methods[method]
  return work(params, service, caller)
}

function isMethod(method: string): method is MethodName {
  return Object.hasOwn(methods, method)
}
