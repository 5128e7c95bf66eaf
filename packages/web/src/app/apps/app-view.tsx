import { AppBridge, type AppDisplayMode, type AppPage } from '@jackfield/host/browser'
import { HostError } from '@jackfield/host/client'
import type { CallToolResult } from '@jackfield/sdk'
import { Maximize2, Minimize2 } from 'lucide-react'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { asError, useHost, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { isRecord } from '../text/pieces.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import { Badge, Button, Note, smallIcon } from '../ui/ui.tsx'
import { appHostContext, useAppHostContext } from './app-host-context.ts'
import style from './apps.module.css'

/** The origins of the frames of apps, with an asterisk: `http://*.localhost:7421`. Empty where the host serves none. */
const apps = document.querySelector<HTMLMetaElement>('meta[name=apps]')?.content ?? ''
/** The same value as in `server/app-pages.ts`. */
const sandbox = 'allow-scripts allow-same-origin allow-forms'
const features = {
  camera: 'camera',
  microphone: 'microphone',
  geolocation: 'geolocation',
  clipboardWrite: 'clipboard-write',
} as const
/** Pixels. */
const initialHeight = 240
const maxHeight = 640
const minHeight = 40

export interface AppViewProps {
  /** The name of the tool in the catalog. */
  readonly tool: string
  /** The page, as the tool's definition names it. */
  readonly uri: string
  readonly server: string
  /** The conversation of the call; it shows the questions of the app. */
  readonly conversation?: string | undefined
  /** The activity row of the call. */
  readonly activity?: number | undefined
  /** The arguments of the call that the app shows. */
  readonly input: Readonly<Record<string, unknown>>
  readonly result?: CallToolResult | undefined
  /** Why there will be no result. */
  readonly cancelled?: string | undefined
}

type State =
  | { readonly step: 'opening' }
  | { readonly step: 'open'; readonly page: AppPage }
  | { readonly step: 'closed' }
  | { readonly step: 'failed'; readonly error: Error }

/** The app of a tool with one call of it: consent, frame, and the questions of the app. */
export function AppView(props: AppViewProps): ReactNode {
  const { tool, uri, server, conversation, activity } = props
  const t = useText()
  const { client } = useHost()
  const [attempt, setAttempt] = useState(0)
  const [state, setState] = useState<State>({ step: 'opening' })
  const first = useRef({ conversation, activity })
  const opened = useRef<string>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens it again
  useEffect(() => {
    if (apps === '') {
      setState({ step: 'failed', error: new Error(t('app.noPort')) })
      return
    }
    const stop = new AbortController()
    const close = (): void => {
      const { current: id } = opened
      opened.current = undefined
      if (id !== undefined) client.call('apps.close', { id }).catch(() => {})
    }
    setState({ step: 'opening' })
    const { conversation: within, activity: cause } = first.current
    client
      .call(
        'apps.open',
        {
          tool,
          ...(within !== undefined && { conversation: within }),
          ...(cause !== undefined && { activity: cause }),
        },
        { signal: stop.signal },
      )
      .then(
        (page) => {
          if (stop.signal.aborted) client.call('apps.close', { id: page.id }).catch(() => {})
          else {
            opened.current = page.id
            setState({ step: 'open', page })
          }
        },
        (reason: unknown) => {
          if (stop.signal.aborted) return
          setState({ step: 'failed', error: asError(reason) })
        },
      )
    addEventListener('pagehide', close, { signal: stop.signal })
    return () => {
      stop.abort()
      close()
    }
  }, [client, tool, attempt])
  const open = state.step === 'open' ? state.page : undefined
  const again = (): void => setAttempt(attempt + 1)
  const close = (): void => {
    setState({ step: 'closed' })
    if (open !== undefined) client.call('apps.close', { id: open.id }).catch(() => {})
    opened.current = undefined
  }
  return (
    <section className={style.app} aria-label={t('app.label', { server })} data-app={state.step}>
      {state.step === 'opening' && <p className={style.note}>{t('app.opening')}</p>}
      {state.step === 'closed' && (
        <p className={style.note}>
          {t('app.closed')}{' '}
          <Button small onClick={again}>
            {t('app.again')}
          </Button>
        </p>
      )}
      {state.step === 'failed' && <Failed {...props} error={state.error} onAgain={again} />}
      {open === undefined ? (
        conversation === undefined && <Questions about={(row) => isAbout(row, server, uri)} />
      ) : (
        <Frame key={open.id} {...props} page={open} onClose={close} />
      )}
    </section>
  )
}

function Failed({
  server,
  uri,
  error,
  onAgain,
}: AppViewProps & { error: Error; onAgain: () => void }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const isBlocked = error instanceof HostError && isRecord(error.data) && error.data['blocked'] === true
  const ask = async (): Promise<void> => {
    const consents = await client.call('apps.consents', {})
    const stored = consents.filter((consent) => consent.server === server && consent.uri === uri)
    await Promise.all(stored.map(({ identity }) => client.call('apps.forget', { identity, uri })))
    onAgain()
  }
  return (
    <Note tone={isBlocked ? 'info' : 'warn'}>
      {isBlocked ? t('app.blocked') : <HostText text={untrusted(error.message)} />}{' '}
      <Button small onClick={() => (isBlocked ? void ask() : onAgain())} data-act="app-again">
        {t(isBlocked ? 'app.askAgain' : 'app.again')}
      </Button>
    </Note>
  )
}

type QuestionRow = Parameters<typeof QuestionCard>[0]['row']

function isAbout({ question }: QuestionRow, server: string, uri: string): boolean {
  return question.kind === 'app' && question.cause.server === server && plainText(question.app.uri) === uri
}

/** Open questions, outside the frame of the app. */
function Questions({ about }: { about: (row: QuestionRow) => boolean }): ReactNode {
  const inbox = useTopic('inbox')
  const open = [...(inbox?.values() ?? [])].filter((row) => row.state === 'open' && about(row))
  return open.map((row) => <InView key={row.id} row={row} />)
}

/** Scrolls a question into view, since it can be answered only once it was completely visible. */
function InView({ row }: { row: QuestionRow }): ReactNode {
  const card = useRef<HTMLDivElement>(null)
  useEffect(() => {
    card.current?.scrollIntoView({ block: 'end' })
  }, [])
  return (
    <div ref={card}>
      <QuestionCard row={row} />
    </div>
  )
}

interface BridgeOptions extends Pick<AppViewProps, 'input' | 'result' | 'cancelled'> {
  readonly page: AppPage
  readonly frame: RefObject<HTMLIFrameElement | null>
  /** The element around the frame, whose size is reported to the app. */
  readonly box: RefObject<HTMLElement | null>
  readonly mode: AppDisplayMode
  readonly onReady: () => void
  readonly onHeight: (height: number) => void
  readonly onMode: (mode: AppDisplayMode) => void
  /** Called when the app asks to be closed. */
  readonly onClose: () => void
}

/** Connects an app in its frame with the host, and sends it its call once. Returns the bridge. */
function useBridge({
  page,
  frame,
  box,
  mode,
  input,
  result,
  cancelled,
  ...callbacks
}: BridgeOptions): RefObject<AppBridge | undefined> {
  const { client } = useHost()
  const bridge = useRef<AppBridge>(undefined)
  const sent = useRef<{ input?: unknown; result?: unknown; cancelled?: unknown }>({})
  const latest = useRef({ mode, ...callbacks })
  latest.current = { mode, ...callbacks }
  useEffect(() => {
    const origin = originOf(page)
    const appBridge = new AppBridge({
      page,
      host: { name: 'jackfield', version: '0.1.0', title: 'Jackfield' },
      context: appHostContext(box.current, 'inline', maxHeight),
      post: (message) => frame.current?.contentWindow?.postMessage(message, origin),
      request: (method, params) => client.call('apps.request', { id: page.id, method, params }),
      onReady: () => latest.current.onReady(),
      onSize: ({ height }) => {
        if (height !== undefined)
          latest.current.onHeight(Math.min(maxHeight, Math.max(minHeight, Math.ceil(height))))
      },
      onDisplayMode: (requested) => {
        // Fullscreen needs a click of the user, and never covers the bar with the name of the server.
        if (requested === 'fullscreen' && !navigator.userActivation.isActive) return latest.current.mode
        latest.current.onMode(requested)
        return requested
      },
      onClose: () => latest.current.onClose(),
    })
    bridge.current = appBridge
    sent.current = {}
    const receive = ({ source, origin: from, data }: MessageEvent<unknown>): void => {
      if (source !== null && source === frame.current?.contentWindow && from === origin)
        appBridge.receive(data)
    }
    addEventListener('message', receive)
    return () => removeEventListener('message', receive)
  }, [client, page, frame, box])
  useEffect(() => {
    const { current } = bridge
    if (current === undefined) return
    const before = sent.current
    if (before.input === undefined) current.toolInput(input)
    if (result !== undefined && before.result === undefined) current.toolResult(result)
    if (cancelled !== undefined && before.cancelled === undefined && result === undefined)
      current.toolCancelled(cancelled)
    sent.current = { input, result: result ?? before.result, cancelled: cancelled ?? before.cancelled }
  }, [input, result, cancelled])
  useAppHostContext(box, mode, maxHeight, (change) => bridge.current?.contextChanged(change))
  return bridge
}

/** The origin of the frame of an app, in which a second frame has its page. */
const originOf = ({ site }: AppPage): string => apps.replace('*', `p-${site}`)

/** The frame of an open app, with a bar that names its server. */
function Frame({
  page,
  input,
  result,
  cancelled,
  conversation,
  onClose,
}: AppViewProps & { page: AppPage; onClose: () => void }): ReactNode {
  const t = useText()
  const frame = useRef<HTMLIFrameElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState(initialHeight)
  const [mode, setMode] = useState<AppDisplayMode>('inline')
  const [isReady, setReady] = useState(false)
  /** Lets the app save its state first. */
  const close = async (): Promise<void> => {
    await bridge.current?.close()
    onClose()
  }
  const bridge = useBridge({
    ...{ page, frame, box, mode, input, result, cancelled },
    onReady: () => setReady(true),
    onHeight: setHeight,
    onMode: setMode,
    onClose: () => void close(),
  })
  const isFull = mode === 'fullscreen'
  useEffect(() => {
    if (!isFull) return
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') setMode('inline')
    }
    addEventListener('keydown', onKey)
    const restore = removeContainment(box.current)
    return () => {
      removeEventListener('keydown', onKey)
      restore()
    }
  }, [isFull])
  return (
    <div className={isFull ? style.full : style.inline} data-border={page.prefersBorder !== false}>
      <header className={style.bar}>
        <Badge name={page.server} identity={page.server} />
        <span className={style.title}>
          <bdi>{page.server}</bdi> ·{' '}
          <SafeText text={untrusted(page.title ?? page.uri)} maxCharacters={80} inline />
        </span>
        <Button
          small
          look="quiet"
          aria-label={t(isFull ? 'app.inline' : 'app.full')}
          onClick={() => setMode(isFull ? 'inline' : 'fullscreen')}
          data-act="app-full"
        >
          {isFull ? <Minimize2 {...smallIcon} /> : <Maximize2 {...smallIcon} />}
        </Button>
        <Button small look="quiet" onClick={() => void close()} data-act="app-close">
          {t('app.close')}
        </Button>
      </header>
      {(isFull || conversation === undefined) && (
        <div className={style.questions}>
          <Questions about={({ rows }) => rows.includes(page.activity)} />
        </div>
      )}
      <div
        className={style.frame}
        ref={(element) => {
          box.current = element
          element?.style.setProperty('--height', `${height}px`)
        }}
      >
        <iframe
          ref={frame}
          title={t('app.label', { server: page.server })}
          sandbox={sandbox}
          allow={page.granted.map((name) => features[name]).join('; ')}
          src={`${originOf(page)}/${page.id}`}
          data-ready={isReady}
        />
      </div>
    </div>
  )
}

/** Removes `content-visibility` of ancestors, which would prevent an element from covering the window. Returns a function that restores it. */
function removeContainment(element: HTMLElement | null): () => void {
  const changed: HTMLElement[] = []
  for (let ancestor = element; ancestor !== null; ancestor = ancestor.parentElement) {
    if (getComputedStyle(ancestor).contentVisibility === 'visible') continue
    ancestor.style.contentVisibility = 'visible'
    changed.push(ancestor)
  }
  return () => {
    for (const ancestor of changed) ancestor.style.contentVisibility = ''
  }
}
