import type { CallToolResult, Implementation } from '@jackfield/sdk'
import type { AppPage, AppReply } from '../types/index.ts'
import { appProtocol } from './tool-app.ts'

/** Maximum characters of one app message as JSON. */
const maxMessageCharacters = 1_048_576
/** Rate limit of app messages: burst, and messages per second; others are dropped. */
const burst = 200
const perSecond = 50
/** Milliseconds an app has to save its state before it is closed. */
const teardownMs = 1_000

/** Display mode of the app. */
export type AppDisplayMode = 'inline' | 'fullscreen'

/** The app's environment (`hostContext` of the extension). */
export interface AppHostContext {
  /** The colour scheme of the surface. */
  theme?: 'light' | 'dark'
  /** BCP 47. */
  locale?: string
  /** The IANA name of the user's time zone. */
  timeZone?: string
  /** The display mode in effect. */
  displayMode?: AppDisplayMode
  /** Pixels. */
  containerDimensions?: { width?: number; maxWidth?: number; height?: number; maxHeight?: number }
  /** CSS variables and fonts of the surface. */
  styles?: { variables: Readonly<Record<string, string>> }
  /** Input methods of the device. */
  deviceCapabilities?: { touch: boolean; hover: boolean }
}

/** The surface of one open app. */
export interface AppBridgeOptions {
  /** The open page, as returned by `apps.open`. */
  page: AppPage
  /** The `hostInfo` sent to the app. */
  host: Implementation
  /** The host context at initialization; `AppBridge` sends later changes. */
  context: AppHostContext
  /** Sends a message to the app with `postMessage`, using the exact origin of its frame. */
  post(message: unknown): void
  /** Runs a request of the app at the host: `apps.request`. */
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<AppReply>
  /** The app is initialized and has received the call that it shows. */
  onReady?(): void
  /** The app requests this size in pixels. */
  onSize?(size: { width?: number; height?: number }): void
  /** The app requests a display mode; returns the one in effect. */
  onDisplayMode?(mode: AppDisplayMode): AppDisplayMode
  /** The app requests to be closed. */
  onClose?(): void
}

type Id = string | number
type Members = Readonly<Record<string, unknown>>

/** Requests of the extension and of MCP that the host answers itself. */
const hostMethods: ReadonlySet<string> = new Set([
  'tools/call',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'ui/open-link',
  'ui/message',
  'ui/update-model-context',
  'ui/download-file',
])

/**
 * The host side of the protocol with an app's frame (revision 2026-01-26 of the extension): handshake, the call to show, host
 * context, and requests. Needs no DOM; call it only with messages whose source and origin were checked.
 */
export class AppBridge {
  readonly #options: AppBridgeOptions
  #context: AppHostContext
  #state: 'new' | 'initializing' | 'ready' | 'closed' = 'new'
  #queued: { readonly method: string; readonly params: object }[] = []
  #allowance = burst
  #countedMs = performance.now()
  #teardown: (() => void) | undefined

  constructor(options: AppBridgeOptions) {
    this.#options = options
    this.#context = options.context
  }

  /** After initialization, messages are sent at once. */
  get isReady(): boolean {
    return this.#state === 'ready'
  }

  /** Handles a message of the app. Anything else is ignored. */
  receive(message: unknown): void {
    if (this.#state === 'closed' || !isMembers(message) || message['jsonrpc'] !== '2.0') return
    if (!this.#isWithinRate() || !isShort(message)) {
      const { id } = message
      if (isId(id) && message['method'] !== undefined)
        this.#fail(id, -32_000, 'The message is too large, or there are too many')
      return
    }
    const { id, method, params } = message
    const memberParams = isMembers(params) ? params : {}
    if (typeof method !== 'string') {
      if (id === teardownId) this.#teardown?.()
    } else if (isId(id)) void this.#answer(id, method, memberParams)
    else if (id === undefined) this.#handleNotification(method, memberParams)
  }

  /** Sends the arguments of the call that the app shows. */
  toolInput(args: Members): void {
    this.#notify('ui/notifications/tool-input', { arguments: args })
  }

  /** Sends the result of the shown call (`ui/notifications/tool-result`). */
  toolResult(result: CallToolResult): void {
    this.#notify('ui/notifications/tool-result', result)
  }

  /** The call was cancelled or rejected. */
  toolCancelled(reason: string): void {
    this.#notify('ui/notifications/tool-cancelled', { reason })
  }

  /** Updates the host context; unchanged members may be omitted. */
  contextChanged(change: AppHostContext): void {
    const changed = Object.entries(change).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(members(this.#context)[name]),
    )
    if (changed.length === 0) return
    this.#context = { ...this.#context, ...change }
    // Before initialization, the handshake delivers the whole context.
    if (this.isReady) this.#notify('ui/notifications/host-context-changed', Object.fromEntries(changed))
  }

  /** Lets the app save its state for at most a second. Its messages are ignored afterwards. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return
    const wasReady = this.isReady
    if (wasReady) {
      const ended = Promise.withResolvers<void>()
      this.#teardown = ended.resolve
      this.#options.post({ jsonrpc: '2.0', id: teardownId, method: 'ui/resource-teardown', params: {} })
      const timer = setTimeout(ended.resolve, teardownMs)
      await ended.promise
      clearTimeout(timer)
    }
    this.#state = 'closed'
    this.#queued = []
  }

  async #answer(id: Id, method: string, params: Members): Promise<void> {
    if (method === 'ping') return this.#reply(id, {})
    if (method === 'ui/initialize') return this.#initialize(id)
    if (this.#state !== 'ready')
      return this.#fail(id, -32_600, 'Send ui/initialize and ui/notifications/initialized first')
    if (method === 'ui/request-display-mode')
      return this.#reply(id, { mode: this.#displayMode(params['mode']) })
    if (!hostMethods.has(method)) return this.#fail(id, -32_601, 'This host has no such method for apps')
    let reply: AppReply
    try {
      reply = await this.#options.request(method, params)
    } catch (error) {
      reply = { error: { code: -32_000, message: error instanceof Error ? error.message : String(error) } }
    }
    if (this.#state === 'ready') this.#options.post({ jsonrpc: '2.0', id, ...reply })
  }

  #initialize(id: Id): void {
    const { page, host } = this.#options
    const { csp, granted, tool, conversation } = page
    this.#state = 'initializing'
    this.#reply(id, {
      protocolVersion: appProtocol,
      hostInfo: host,
      hostCapabilities: {
        openLinks: {},
        downloadFile: {},
        serverTools: {},
        serverResources: {},
        ...(conversation !== undefined && {
          message: { text: {} },
          updateModelContext: { text: {}, structuredContent: {} },
        }),
        sandbox: { csp, permissions: Object.fromEntries(granted.map((name) => [name, {}])) },
      },
      hostContext: {
        platform: 'web',
        userAgent: `${host.name}/${host.version}`,
        toolInfo: { tool },
        availableDisplayModes: ['inline', 'fullscreen'],
        ...this.#context,
      },
    })
  }

  #handleNotification(method: string, params: Members): void {
    const { onSize, onClose, onReady } = this.#options
    if (method === 'ui/notifications/initialized') {
      if (this.#state !== 'initializing') return
      this.#state = 'ready'
      const queued = this.#queued
      this.#queued = []
      for (const { method: name, params: queuedParams } of queued) this.#notify(name, queuedParams)
      onReady?.()
    } else if (this.#state !== 'ready') return
    else if (method === 'ui/notifications/request-teardown') onClose?.()
    else if (method === 'ui/notifications/size-changed') {
      const { width, height } = params
      onSize?.({ ...(isSize(width) && { width }), ...(isSize(height) && { height }) })
    }
  }

  #displayMode(mode: unknown): AppDisplayMode {
    const { onDisplayMode } = this.#options
    const now = this.#context.displayMode ?? 'inline'
    return (mode === 'inline' || mode === 'fullscreen') && onDisplayMode !== undefined
      ? onDisplayMode(mode)
      : now
  }

  /** Sends a message after initialization. */
  #notify(method: string, params: object): void {
    if (this.#state === 'ready') this.#options.post({ jsonrpc: '2.0', method, params })
    else if (this.#state !== 'closed') this.#queued.push({ method, params })
  }

  #reply(id: Id, result: object): void {
    this.#options.post({ jsonrpc: '2.0', id, result })
  }

  #fail(id: Id, code: number, message: string): void {
    this.#options.post({ jsonrpc: '2.0', id, error: { code, message } })
  }

  #isWithinRate(): boolean {
    const now = performance.now()
    this.#allowance = Math.min(burst, this.#allowance + ((now - this.#countedMs) / 1_000) * perSecond)
    this.#countedMs = now
    if (this.#allowance < 1) return false
    this.#allowance -= 1
    return true
  }
}

const teardownId = 'teardown'

function members(value: object): Members {
  return { ...value }
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number'
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isShort(message: Members): boolean {
  try {
    return JSON.stringify(message).length <= maxMessageCharacters
  } catch {
    return false
  }
}
