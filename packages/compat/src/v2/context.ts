/**
 * The context of a handler in version 2 of the official SDK. A handler that returns `inputRequired(…)` runs again with the
 * responses, on all revisions; one that awaits `ctx.mcpReq.elicitInput` runs once.
 */
import type { DescribedSchema } from '@jackfield/sdk'
import type { Extra } from '../server/registered.ts'
import { parseWith, StandardSchema } from '../server/schemas.ts'
import { isObject, runningCall } from '../server/served-call.ts'
import type { RequestOptions } from '../shared/protocol.ts'
import {
  type AuthInfo,
  type CreateMessageRequest,
  type CreateMessageResult,
  CreateMessageResultSchema,
  type CreateMessageResultWithTools,
  CreateMessageResultWithToolsSchema,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  ElicitResultSchema,
  type LoggingLevel,
  type Notification,
  type Request,
  type RequestId,
  type RequestMeta,
  ResultSchema,
  ServerNotificationSchema,
  type ServerRequest,
  ServerRequestSchema,
} from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { ProtocolError, ProtocolErrorCode, toV2Error } from './errors.ts'

/** A schema of any library that describes itself as JSON Schema. */
export type StandardSchemaWithJSON<In = unknown, Out = In> = DescribedSchema<In, Out>

/** An input request in a result. */
export interface InputRequest {
  method: string
  params?: object
}
export type InputRequests = Record<string, InputRequest>

/** A result that asks for input: the handler runs again with the responses. */
export interface InputRequiredResult {
  [name: string]: unknown
  resultType: 'input_required'
  inputRequests?: InputRequests
  requestState?: string
}

export interface InputRequiredSpec {
  inputRequests?: InputRequests
  /** Text for the next run of the handler. It stays in this process. */
  requestState?: string
}

export type ElicitInputParams = Omit<ElicitRequestFormParams, 'requestedSchema'> & {
  requestedSchema: ElicitRequestFormParams['requestedSchema'] | StandardSchemaWithJSON
}

/** Creates a result that asks for input; its methods create the requests in it. */
export const inputRequired: {
  (spec: InputRequiredSpec): InputRequiredResult
  elicit(params: ElicitInputParams): InputRequest
  elicitUrl(params: Omit<ElicitRequestURLParams, 'mode' | 'elicitationId'>): InputRequest
  createMessage(params: CreateMessageRequest['params']): InputRequest
  listRoots(): InputRequest
} = Object.assign(
  (spec: InputRequiredSpec): InputRequiredResult => ({ resultType: 'input_required', ...spec }),
  {
    elicit: ({ requestedSchema, ...params }: ElicitInputParams): InputRequest => ({
      method: 'elicitation/create',
      params: { ...params, mode: 'form', requestedSchema: formOf(requestedSchema) },
    }),
    elicitUrl: (params: object): InputRequest => ({
      method: 'elicitation/create',
      params: { ...params, mode: 'url', elicitationId: crypto.randomUUID() },
    }),
    createMessage: (params: object): InputRequest => ({ method: 'sampling/createMessage', params }),
    listRoots: (): InputRequest => ({ method: 'roots/list' }),
  },
)

function formOf(schema: object): object {
  if (!('~standard' in schema) || !isStandardSchema(schema)) return schema
  const {
    $schema: _dialect,
    additionalProperties: _additional,
    ...form
  } = schema['~standard'].jsonSchema.input({
    target: 'draft-2020-12',
  })
  return form
}

function isStandardSchema(schema: object): schema is StandardSchemaWithJSON {
  return '~standard' in schema
}

export function isInputRequiredResult(value: unknown): value is InputRequiredResult {
  return isObject(value) && value['resultType'] === 'input_required'
}

/** The content of an accepted form, if there is one. With a schema, only if it is valid. */
export function acceptedContent<T extends Record<string, unknown> = Record<string, unknown>>(
  responses: Record<string, unknown> | undefined,
  key: string,
): T | undefined
export function acceptedContent<Out>(
  responses: Record<string, unknown> | undefined,
  key: string,
  schema: StandardSchemaWithJSON<unknown, Out>,
): Out | undefined
export function acceptedContent(
  responses: Record<string, unknown> | undefined,
  key: string,
  schema?: StandardSchemaWithJSON,
): unknown {
  const response = responses?.[key]
  if (!isObject(response) || response['action'] !== 'accept') return undefined
  if (schema === undefined) return response['content']
  const result = schema['~standard'].validate(response['content'])
  return 'issues' in result && result.issues !== undefined
    ? undefined
    : 'value' in result
      ? result.value
      : undefined
}

/** The context of a handler. */
export type ServerContext = {
  sessionId?: string
  mcpReq: {
    id: RequestId
    method: string
    _meta?: RequestMeta
    /** The responses to the requests of `inputRequired`, by key. */
    inputResponses?: Record<string, unknown>
    /** The state of `inputRequired`. */
    requestState: <T = unknown>() => T | undefined
    /** Aborted when the client cancels or disconnects. */
    signal: AbortSignal
    send: {
      (request: ServerRequest, options?: RequestOptions): Promise<object>
      <Out>(
        request: Request,
        resultSchema: StandardSchemaWithJSON<unknown, Out>,
        options?: RequestOptions,
      ): Promise<Out>
    }
    notify: (notification: Notification) => Promise<void>
    log: (level: LoggingLevel, data: unknown, logger?: string) => Promise<void>
    elicitInput: (
      params: ElicitRequestFormParams | ElicitRequestURLParams,
      options?: RequestOptions,
    ) => Promise<ElicitResult>
    requestSampling: (
      params: CreateMessageRequest['params'],
      options?: RequestOptions,
    ) => Promise<CreateMessageResult | CreateMessageResultWithTools>
  }
  http?: {
    authInfo?: AuthInfo
    req?: globalThis.Request
    closeSSE?: () => void
    closeStandaloneSSE?: () => void
  }
}
export type BaseContext = ServerContext

interface Input {
  readonly responses: Record<string, unknown> | undefined
  readonly state: string | undefined
}

/** How many times a handler may return `inputRequired` for one request. */
const maxRounds = 10

/** Runs a handler, sends its input requests, and runs it again, until it returns its final result. */
export async function runWithInput<T>(
  extra: Extra,
  run: (ctx: ServerContext) => T | InputRequiredResult | Promise<T | InputRequiredResult>,
): Promise<T> {
  let input: Input = { responses: undefined, state: undefined }
  for (let round = 0; round <= maxRounds; round++) {
    const result = await run(contextOf(extra, input))
    if (!isInputRequiredResult(result)) return result
    const { inputRequests = {}, requestState } = result
    const asked = Object.entries(inputRequests).map(
      async ([key, request]): Promise<[string, unknown]> => [key, await send(extra, request)],
    )
    input = { responses: Object.fromEntries(await Promise.all(asked)), state: requestState }
  }
  throw new ProtocolError(
    ProtocolErrorCode.InternalError,
    `The handler asked for input more than ${maxRounds} times in one request`,
  )
}

async function send(
  extra: Extra,
  { method, params }: InputRequest,
  options?: RequestOptions,
): Promise<object> {
  const request = ServerRequestSchema.safeParse({ method, params })
  if (!request.success) {
    throw new NotCoveredError(
      `the request "${method}" to a client`,
      'Send elicitation/create, sampling/createMessage or roots/list',
    )
  }
  try {
    return await extra.sendRequest(request.data, ResultSchema, options)
  } catch (error) {
    throw toV2Error(error)
  }
}

function contextOf(extra: Extra, { responses, state }: Input): ServerContext {
  const { signal, requestId, sessionId, _meta, authInfo, closeSSEStream, requestInfo } = extra
  const call = runningCall()
  const req = call?.http?.request
  const notify = async (notification: Notification): Promise<void> => {
    const parsed = ServerNotificationSchema.safeParse(notification)
    if (!parsed.success)
      throw new NotCoveredError(
        `the notification "${notification.method}" to a client`,
        'Send one of the specification',
      )
    await extra.sendNotification(parsed.data)
  }
  return {
    ...(sessionId === undefined ? {} : { sessionId }),
    mcpReq: {
      id: requestId,
      method: call?.method ?? '',
      ...(_meta === undefined ? {} : { _meta }),
      ...(responses === undefined ? {} : { inputResponses: responses }),
      requestState: () => readState(state),
      signal,
      send: createSend(extra),
      notify,
      log: (level, data, logger) =>
        notify({
          method: 'notifications/message',
          params: { level, data, ...(logger === undefined ? {} : { logger }) },
        }),
      elicitInput: async (params, options) => {
        const withMode = params.mode === 'url' ? params : { ...params, mode: 'form' }
        return ElicitResultSchema.parse(
          await send(extra, { method: 'elicitation/create', params: withMode }, options),
        )
      },
      requestSampling: async (params, options) => {
        const result = await send(extra, { method: 'sampling/createMessage', params }, options)
        return params.tools === undefined
          ? CreateMessageResultSchema.parse(result)
          : CreateMessageResultWithToolsSchema.parse(result)
      },
    },
    ...(requestInfo === undefined && authInfo === undefined
      ? {}
      : {
          http: {
            ...(authInfo === undefined ? {} : { authInfo }),
            ...(req === undefined ? {} : { req }),
            ...(closeSSEStream === undefined ? {} : { closeSSE: closeSSEStream }),
          },
        }),
  }
}

function readState<T>(state: string | undefined): T | undefined {
  return isState<T>(state) ? state : undefined
}

/** The author of a handler names the type of their own state. */
function isState<T>(state: unknown): state is T {
  return state !== undefined
}

function createSend(extra: Extra): ServerContext['mcpReq']['send'] {
  async function sendRequest(request: ServerRequest, options?: RequestOptions): Promise<object>
  async function sendRequest<Out>(
    request: Request,
    resultSchema: StandardSchemaWithJSON<unknown, Out>,
    options?: RequestOptions,
  ): Promise<Out>
  async function sendRequest(
    request: Request,
    schemaOrOptions?: StandardSchemaWithJSON | RequestOptions,
    options?: RequestOptions,
  ): Promise<unknown> {
    const schema =
      schemaOrOptions !== undefined && isStandardSchema(schemaOrOptions) ? schemaOrOptions : undefined
    const others =
      schemaOrOptions !== undefined && !isStandardSchema(schemaOrOptions) ? schemaOrOptions : options
    const { method, params } = request
    const result = await send(extra, { method, ...(params === undefined ? {} : { params }) }, others)
    if (schema === undefined) return result
    const parsed = await parseWith(new StandardSchema(schema), result)
    if (parsed.success) return parsed.data
    throw parsed.error
  }
  return sendRequest
}
