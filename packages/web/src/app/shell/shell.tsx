import {
  Activity,
  Ellipsis,
  Inbox,
  Library,
  ListChecks,
  MessageSquare,
  PanelRight,
  ScanSearch,
  Search,
  Server,
  Settings,
  Shield,
} from 'lucide-react'
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Link, useLocation } from 'wouter'
import { asError, useConnection, useHost, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import icon from '../icon.svg'
import { screens } from '../keys/bindings.ts'
import { useKeys } from '../keys/use-keys.ts'
import { routes, useShownConversation } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { Part } from '../text/part.tsx'
import { loaded } from '../ui/loaded.tsx'
import { Button, Key } from '../ui/ui.tsx'
import { DockAside, dockWidths } from './dock.tsx'
import { type Dock, DockProvider, type DockSection, type DockTab, dockTabs } from './dock-state.ts'
import { useNotifications } from './notifications.ts'
import style from './shell.module.css'

const Palette = loaded(() => import('./palette.tsx'), EarlyKeyBuffer)

const screenIcons = {
  'nav.chat': MessageSquare,
  'nav.inbox': Inbox,
  'nav.servers': Server,
  'nav.inspect': ScanSearch,
  'nav.tasks': ListChecks,
  'nav.library': Library,
  'nav.permissions': Shield,
  'nav.activity': Activity,
  'nav.settings': Settings,
} as const

/** Links that fit on a narrow screen; the others are behind a button. */
const narrowTabs = ['nav.chat', 'nav.inbox', 'nav.servers', 'nav.activity']
type Overlay = 'palette' | 'keys'

const dockKey = 'jackfield.dock'
const widthKey = 'jackfield.dock-width'
/** Minimum window width in pixels for the dock as a column; below it, the dock is a drawer. */
const minColumnWidth = 1_280

/** The state of the dock, stored in the browser. A drawer is closed at first. */
function useDockState(): Dock & { readonly width: number; setWidth(width: number): void } {
  const [isOpen, setOpen] = useState(
    () => localStorage.getItem(dockKey) === 'open' && innerWidth >= minColumnWidth,
  )
  const [tab, setTab] = useState<DockTab>(
    () => dockTabs.find((name) => name === localStorage.getItem(`${dockKey}-tab`)) ?? 'inbox',
  )
  const [width, setWidth] = useState(() => Number(localStorage.getItem(widthKey)) || dockWidths.default)
  const [focusRequest, setFocusRequest] = useState<Dock['focusRequest']>()
  const opener = useRef<Element>(null)
  const change = (open: boolean): void => {
    if (open && !isOpen) opener.current = document.activeElement
    setOpen(open)
    localStorage.setItem(dockKey, open ? 'open' : 'closed')
    // Returns the focus when the element that had it disappears.
    if (!open && document.activeElement?.closest('#dock') != null && opener.current instanceof HTMLElement)
      opener.current.focus()
  }
  const show = (next: DockTab, section?: DockSection): void => {
    setTab(next)
    localStorage.setItem(`${dockKey}-tab`, next)
    setFocusRequest(section === undefined ? undefined : { section })
    change(true)
  }
  return {
    isOpen,
    tab,
    width,
    focusRequest,
    show,
    toggle: (next = tab) => (isOpen && next === tab ? change(false) : show(next)),
    close: () => change(false),
    setWidth(next) {
      setWidth(next)
      localStorage.setItem(widthKey, String(next))
    },
  }
}

/** Navigation, title, connection and dock around a screen. */
export function Shell({ children }: { children: ReactNode }): ReactNode {
  const t = useText()
  const [location, navigate] = useLocation()
  const [overlay, setOverlay] = useState<Overlay>()
  /** Of the last act by a key or the palette, on the screen where it failed. */
  const [error, setError] = useState<Error>()
  const onFailed = useCallback((reason: unknown) => setError(asError(reason)), [])
  /** Text that was typed while the palette was loading. */
  const typedEarly = useRef('')
  const dock = useDockState()
  const main = useRef<HTMLElement>(null)
  const inbox = useTopic('inbox')
  const open = useMemo(() => [...(inbox?.values() ?? [])].filter(({ state }) => state === 'open'), [inbox])
  const current = screens.find(({ to }) => location.startsWith(to))
  const isInbox = current?.name === 'nav.inbox'
  const conversation = useShownConversation()
  // A question is shown once: those of the open conversation are in it, and the inbox has all.
  const dockQuestions = useMemo(
    () =>
      open.filter(
        ({ question, deferred }) =>
          !isInbox &&
          (deferred === true || conversation === undefined || question.cause.conversation !== conversation),
      ),
    [open, isInbox, conversation],
  )
  useNotifications(open, (id) => navigate(routes.question.to(id)))
  useEffect(() => {
    document.title = `${open.length > 0 ? `(${open.length}) ` : ''}${current === undefined ? '' : `${t(current.name)} · `}Jackfield`
  }, [open.length, current, t])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address moves the focus to the new screen
  useEffect(() => {
    setError(undefined)
    if (innerWidth < minColumnWidth) dock.close()
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true })
  }, [location])
  useShellKeys(
    open.map(({ id }) => id),
    conversation,
    dock,
    setOverlay,
    onFailed,
  )
  const links = { current: current?.name, waiting: open.length }
  return (
    <DockProvider value={dock}>
      <div className={style.shell}>
        <a className={style.skip} href="#main">
          {t('nav.skip')}
        </a>
        <nav className={style.rail} aria-label={t('nav.label')}>
          <div className={style.brand}>
            <img src={icon} alt="" />
            <span className={style.label}>Jackfield</span>
          </div>
          <ScreenLinks of={screens} {...links} />
        </nav>
        <TopBar
          title={current === undefined ? 'Jackfield' : t(current.name)}
          waiting={
            dockQuestions.length > 0 &&
            t(dockQuestions.length < open.length ? 'nav.others' : 'nav.waiting', {
              count: dockQuestions.length,
            })
          }
          dock={dock}
          onFind={() => setOverlay('palette')}
        />
        <div className={style.line}>
          <ConnectionLine />
          {error !== undefined && <ErrorNote error={error} />}
        </div>
        <main className={style.main} id="main" ref={main} tabIndex={-1}>
          {children}
        </main>
        {dock.isOpen && (
          <DockAside
            open={dockQuestions}
            conversation={conversation}
            width={dock.width}
            onWidth={dock.setWidth}
          />
        )}
        <NarrowTabs {...links} />
        <Announcer count={open.length} newest={open.at(-1)} />
        {overlay !== undefined && (
          <Part name="palette">
            <Palette
              view={overlay}
              typedEarly={typedEarly}
              onKeys={() => setOverlay('keys')}
              onFailed={onFailed}
              onClose={() => setOverlay(undefined)}
            />
          </Part>
        )}
      </div>
    </DockProvider>
  )
}

/** Handles the keys that work on every screen. `open`: the ids of the open questions, the oldest first. */
function useShellKeys(
  open: readonly string[],
  conversation: string | undefined,
  dock: Dock,
  onOverlay: (overlay: Overlay) => void,
  onFailed: (reason: unknown) => void,
): void {
  const [location, navigate] = useLocation()
  const { client } = useHost()
  const show = (id: string | undefined): void => {
    if (id !== undefined) navigate(routes.question.to(id))
  }
  const step = (by: number): void => {
    const index = open.findIndex((id) => location === routes.question.to(id))
    show(open[index === -1 ? 0 : (index + by + open.length) % open.length])
  }
  useKeys({
    palette: () => onOverlay('palette'),
    keys: () => onOverlay('keys'),
    dock: () => dock.toggle(),
    stop: () => {
      if (conversation !== undefined) client.call('conversations.stop', { id: conversation }).catch(onFailed)
    },
    oldest: () => show(open[0]),
    next: () => step(1),
    previous: () => step(-1),
  })
}

interface ScreenLinksProps {
  /** The name of the current screen. */
  current: string | undefined
  /** The number of open questions. */
  waiting: number
}

function ScreenLinks({
  of: shown,
  current,
  waiting,
}: ScreenLinksProps & { of: readonly (typeof screens)[number][] }): ReactNode {
  const t = useText()
  return shown.map(({ name, to }) => {
    const Icon = screenIcons[name]
    return (
      <Link
        key={name}
        href={to}
        className={style.item ?? ''}
        title={t(name)}
        aria-current={current === name ? 'page' : undefined}
      >
        <Icon size={18} strokeWidth={1.5} aria-hidden="true" />
        <span className={style.label}>{t(name)}</span>
        {name === 'nav.inbox' && waiting > 0 && <span className={style.count}>{waiting}</span>}
      </Link>
    )
  })
}

/** The title of the screen, what waits for the user, the servers, and the buttons for palette and dock. */
function TopBar({
  title,
  waiting,
  dock,
  onFind,
}: {
  title: string
  /** How many questions wait in the dock; false for none. */
  waiting: string | false
  dock: Dock
  onFind: () => void
}): ReactNode {
  const t = useText()
  const servers = useTopic('servers')
  const states = [...(servers?.values() ?? [])].map(({ connection }) => connection.state)
  return (
    <header className={style.top}>
      <h1>{title}</h1>
      {waiting !== false && (
        <Button
          small
          onClick={() => dock.toggle('inbox')}
          aria-expanded={dock.isOpen && dock.tab === 'inbox'}
          aria-controls="dock"
        >
          {waiting}
        </Button>
      )}
      {states.length > 0 && (
        <Link
          className={style.status ?? ''}
          href={routes.servers.to()}
          data-wrong={states.some((state) => state === 'failed' || state === 'degraded')}
        >
          <Server size={16} strokeWidth={1.5} aria-hidden="true" />{' '}
          {states.filter((state) => state === 'ready').length}/{states.length}
          <span className={style.statusText}>{t('nav.ready')}</span>
        </Link>
      )}
      <Button small onClick={onFind} className={style.find}>
        <Search size={16} strokeWidth={1.5} aria-hidden="true" />
        <span>{t('nav.find')}</span> <Key>Ctrl K</Key>
      </Button>
      <Button
        small
        look="quiet"
        aria-label={t('nav.dock')}
        title={t('nav.dock')}
        aria-expanded={dock.isOpen}
        aria-controls="dock"
        className={style.panel}
        onClick={() => dock.toggle()}
      >
        <PanelRight size={16} strokeWidth={1.5} aria-hidden="true" />
      </Button>
    </header>
  )
}

/** The links at the bottom of a narrow screen; those that do not fit are behind a button. */
function NarrowTabs(links: ScreenLinksProps): ReactNode {
  const t = useText()
  const [location] = useLocation()
  const [isMore, setMore] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the list
  useEffect(() => setMore(false), [location])
  const others = screens.filter(({ name }) => !narrowTabs.includes(name))
  return (
    <nav className={style.tabs} aria-label={t('nav.label')}>
      <ScreenLinks of={screens.filter(({ name }) => narrowTabs.includes(name))} {...links} />
      <button
        type="button"
        className={style.item}
        data-here={others.some(({ name }) => name === links.current)}
        aria-expanded={isMore}
        onClick={() => setMore(!isMore)}
      >
        <Ellipsis size={18} strokeWidth={1.5} aria-hidden="true" />
        <span>{t('nav.more')}</span>
      </button>
      {isMore && (
        <div className={style.more}>
          <ScreenLinks of={others} {...links} />
        </div>
      )}
    </nav>
  )
}

/** Buffers keys while the palette loads, so that they do not trigger key bindings of the page. */
function EarlyKeyBuffer({
  typedEarly,
  onClose,
}: {
  typedEarly: RefObject<string>
  onClose: () => void
}): null {
  const close = useRef(onClose)
  close.current = onClose
  useLayoutEffect(() => {
    typedEarly.current = ''
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
      event.preventDefault()
      event.stopPropagation()
      if (event.key === 'Escape') close.current()
      else if (event.key === 'Backspace') typedEarly.current = typedEarly.current.slice(0, -1)
      else if (event.key.length === 1) typedEarly.current += event.key
    }
    document.addEventListener('keydown', onKey, { capture: true })
    return () => document.removeEventListener('keydown', onKey, { capture: true })
  }, [typedEarly])
  return null
}

/** Shows a notice once the connection has been lost for a second. */
function ConnectionLine(): ReactNode {
  const t = useText()
  const connection = useConnection()
  const [isLate, setLate] = useState(false)
  const isLost = connection.state !== 'connected'
  useEffect(() => {
    setLate(false)
    if (!isLost) return
    const timer = setTimeout(() => setLate(true), 1_000)
    return () => clearTimeout(timer)
  }, [isLost])
  if (!isLost || !isLate) return null
  return (
    <div className={style.lost} role="status">
      {t('connection.lost')}
    </div>
  )
}

/** Announces new questions to screen readers. */
function Announcer({
  count,
  newest,
}: {
  count: number
  newest:
    | { readonly question: { readonly kind: string; readonly cause: { readonly server: string } } }
    | undefined
}): ReactNode {
  const t = useText()
  const before = useRef(count)
  const [announcement, setAnnouncement] = useState('')
  useEffect(() => {
    if (count > before.current && newest !== undefined)
      setAnnouncement(t(`announce.${newest.question.kind}`, { server: newest.question.cause.server }))
    before.current = count
  }, [count, newest, t])
  return (
    <div className="hidden-text" aria-live="polite">
      {announcement}
    </div>
  )
}
