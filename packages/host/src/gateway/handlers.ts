import {
  type CallToolResult,
  type Context,
  type DescribedSchema,
  ErrorCode,
  type GetPromptResult,
  type InputRequired,
  inputRequired,
  type JsonSchema,
  McpError,
  prompt,
  type ReadReply,
  type ReadResourceResult,
  type Reply,
  RpcError,
  reply,
  resource,
  template,
  tool,
} from '@jackfield/sdk'
import { defined, SuspendedCalls } from '@jackfield/sdk/internal'
import { reasonWithFixes } from '../shared/failures.ts'
import { isRecord, type JsonRecord } from '../shared/json.ts'
import type { CatalogPrompt, Host } from '../types/index.ts'
import type { DefinitionBuilders } from './offer.ts'
import { ClientCall, type Request, type Subject } from './relays.ts'

interface HandlersDeps {
  host: Pick<Host, 'call' | 'read' | 'prompt' | 'complete'>
  /** Every request in progress. */
  calls: Set<ClientCall<unknown>>
  heldMs: number
  /** A client's request, with its exchange. */
  requestOf: (context: Context) => Request
  /** The conversation that a request belongs to; undefined for an unknown user. */
  conversationOf: (context: Context) => string | undefined
}

/** Handles requests with the host: each runs there as a separate request, with policy and activity row. */
export class Handlers implements DefinitionBuilders {
  readonly #deps: HandlersDeps
  readonly #tools: ForwardedCalls<Reply>
  readonly #prompts: ForwardedCalls<GetPromptResult>
  readonly #reads: ForwardedCalls<ReadReply>

  constructor(deps: HandlersDeps) {
    const { calls, heldMs } = deps
    this.#deps = deps
    this.#tools = new ForwardedCalls(calls, heldMs)
    this.#prompts = new ForwardedCalls(calls, heldMs)
    this.#reads = new ForwardedCalls(calls, heldMs)
  }

  tool: DefinitionBuilders['tool'] = ({ name, server, tool: { inputSchema } }) =>
    tool({
      input: passThrough(inputSchema),
      run: (args, context) =>
        this.#forward(this.#tools, server, context, (call) => this.#callTool(name, args, call)),
    })

  prompt: DefinitionBuilders['prompt'] = ({ name, server, prompt: listed }) =>
    prompt({
      input: passThrough(schemaOf(listed)),
      complete: Object.fromEntries(
        (listed.arguments ?? []).map((argument) => [
          argument.name,
          this.#completer(server, { type: 'ref/prompt', name: listed.name }, argument.name),
        ]),
      ),
      run: (args, context) =>
        this.#forward(this.#prompts, server, context, (call) =>
          reportErrors(server, () => this.#deps.host.prompt(name, stringsOf(args), optionsOf(call))),
        ),
    })

  resource: DefinitionBuilders['resource'] = ({ server, resource: { uri, mimeType } }) =>
    resource({
      uri,
      ...(mimeType !== undefined && { mimeType }),
      read: (context) => this.read(server, uri, context),
    })

  template: DefinitionBuilders['template'] = ({ server, template: { uriTemplate } }) =>
    template({ uriTemplate, read: (_variables, context, uri) => this.read(server, uri, context) })

  read(server: string, uri: string, context: Context): ReturnType<ForwardedCalls<ReadReply>['forward']> {
    return this.#forward(this.#reads, server, context, (call) =>
      // The host's user can search its text: what gateway clients read belongs to that user.
      reportErrors(server, () =>
        this.#deps.host.read(server, uri, { ...optionsOf(call), searchable: false }),
      ).then(toReadReply),
    )
  }

  #forward<T>(
    calls: ForwardedCalls<T>,
    server: string,
    context: Context,
    run: (call: ClientCall<T>) => Promise<T>,
  ): Promise<T | InputRequired> {
    const { requestOf, conversationOf } = this.#deps
    return calls.forward(requestOf(context), { server, conversation: conversationOf(context) }, run)
  }

  close(): void {
    for (const kind of [this.#tools, this.#prompts, this.#reads]) kind.close()
  }

  async #callTool(name: string, args: JsonRecord, call: ClientCall<Reply>): Promise<Reply> {
    const done = await reportErrors(call.subject.server, () =>
      this.#deps.host.call(name, args, {
        caller: 'gateway',
        ...optionsOf(call),
        onProgress: (report) => call.progress(report),
      }),
    )
    const { error, result } = done
    if (typeof error?.code === 'number') throw new RpcError(error.code, error.message, error.data)
    return toReply(result)
  }

  #completer(server: string, ref: { type: 'ref/prompt'; name: string }, name: string) {
    return async (
      value: string,
      context: { arguments: Readonly<Record<string, string>>; signal: AbortSignal },
    ): Promise<string[]> => {
      try {
        const chosen = { ...context.arguments }
        const params = {
          ref,
          argument: { name, value },
          ...(Object.keys(chosen).length > 0 && { context: { arguments: chosen } }),
        }
        const { values } = await this.#deps.host.complete(server, params, { signal: context.signal })
        return values
      } catch (error) {
        if (error instanceof McpError && error.code === 'CAPABILITY') return []
        throw error
      }
    }
  }
}

/** Options of every client request at the host. */
function optionsOf<T>(call: ClientCall<T>) {
  const { signal, subject } = call
  const onRow = (activity: number): void => {
    call.row = activity
  }
  return { signal, onRow, ...defined({ conversation: subject.conversation }) }
}

/** A schema that clients get unchanged. Arguments are validated by the server that declares it. */
function passThrough(schema: JsonSchema): DescribedSchema<JsonRecord, JsonRecord> {
  return {
    '~standard': {
      version: 1,
      vendor: 'jackfield',
      validate: (value) =>
        isRecord(value) ? { value } : { issues: [{ message: 'the arguments must be an object' }] },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}

function schemaOf({ arguments: list = [] }: CatalogPrompt['prompt']): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(list.map(({ name }) => [name, { type: 'string' }])),
    required: list.filter(({ required }) => required === true).map(({ name }) => name),
  }
}

function stringsOf(args: JsonRecord): Record<string, string> {
  return Object.fromEntries(
    Object.entries(args).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

function toReply({ content, structuredContent, isError = false, _meta: meta }: CallToolResult): Reply {
  const structured = structuredContent === undefined ? {} : { structured: structuredContent }
  return reply({ content, isError, ...structured, ...defined({ meta }) })
}

function toReadReply({ contents, _meta: meta }: ReadResourceResult): ReadReply {
  return { contents, ...defined({ meta }) }
}

/** Runs a request. Clients get a server's error unchanged; any other failure becomes an internal error with its fixes. */
async function reportErrors<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcError) throw error
    throw new RpcError(ErrorCode.InternalError, `${server} cannot be asked: ${reasonWithFixes(error)}`)
  }
}

/** Maximum requests of one kind that wait for input. */
const maxSuspended = 256
/** Maximum of these for one principal. */
const maxSuspendedPerPrincipal = 32

/** Requests of one kind in progress, including those that wait for input. */
class ForwardedCalls<T> {
  /** All in progress, newest last. */
  readonly calls: Set<ClientCall<unknown>>
  readonly #suspended: SuspendedCalls<ClientCall<T>>

  constructor(calls: Set<ClientCall<unknown>>, heldMs: number) {
    this.calls = calls
    this.#suspended = new SuspendedCalls({
      suspended: maxSuspended,
      suspendedPerPrincipal: maxSuspendedPerPrincipal,
      suspendedMs: heldMs,
    })
  }

  /**
   * Runs a request, or continues it when its client returns input responses. Returns its result, or the input requests for the
   * client.
   */
  async forward(
    request: Request,
    subject: Subject,
    run: (call: ClientCall<T>) => Promise<T>,
  ): Promise<T | InputRequired> {
    const { state, answers } = request.context
    const call = state === undefined ? this.#begin(request, subject, run) : this.#resume(request)
    call.answer(answers)
    const next = await call.nextFor(request)
    if ('result' in next) return next.result
    this.#suspended.suspend(call)
    return inputRequired({ requests: next.asked, state: { held: call.id } })
  }

  close(): void {
    this.#suspended.close()
  }

  #begin(request: Request, subject: Subject, run: (call: ClientCall<T>) => Promise<T>): ClientCall<T> {
    const call = new ClientCall<T>(subject, request)
    this.calls.add(call)
    call.begin(() =>
      run(call).finally(() => {
        this.calls.delete(call)
        call.settled()
      }),
    )
    return call
  }

  #resume({ context: { state, peer } }: Request): ClientCall<T> {
    const call = this.#suspended.resume(isRecord(state) ? state['held'] : undefined, peer.principal)
    if (call !== undefined) return call
    throw new RpcError(
      ErrorCode.InternalError,
      'The request that asked no longer waits: the answer took too long, or the gateway was restarted. It was not ' +
        'run again. It is unknown whether it had an effect: check before you repeat it.',
    )
  }
}
