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
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useConnection, useHost, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import icon from '../icon.svg'
import { useKeys } from '../keys/use-keys.ts'
import { routes } from '../routes.ts'
import { Part } from '../text/part.tsx'
import { loaded } from '../ui/loaded.tsx'
import { Button, Key } from '../ui/ui.tsx'
import { DockAside, dockWidths } from './dock.tsx'
import { type Dock, DockProvider, type DockSection, type DockTab, dockTabs } from './dock-state.ts'
import { useNotifications } from './notifications.ts'
import style from './shell.module.css'

const Palette = loaded(() => import('./palette.tsx'), EarlyKeyBuffer)

const screenLinks = [
  { name: 'nav.chat', to: routes.chats.to(), Icon: MessageSquare },
  { name: 'nav.inbox', to: routes.inbox.to(), Icon: Inbox },
  { name: 'nav.servers', to: routes.servers.to(), Icon: Server },
  { name: 'nav.inspect', to: routes.inspect.to(), Icon: ScanSearch },
  { name: 'nav.tasks', to: routes.tasks.to(), Icon: ListChecks },
  { name: 'nav.library', to: routes.library.to(), Icon: Library },
  { name: 'nav.permissions', to: routes.permissions.to(), Icon: Shield },
  { name: 'nav.activity', to: routes.activities.to(), Icon: Activity },
  { name: 'nav.settings', to: routes.settings.to(), Icon: Settings },
] as const

/** Links that fit on a narrow screen; the others are behind a button. */
const narrowTabs = ['nav.chat', 'nav.inbox', 'nav.servers', 'nav.activity']
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
  const { client } = useHost()
  const [overlay, setOverlay] = useState<'palette' | 'keys'>()
  /** Text that was typed while the palette was loading. */
  const typedEarly = useRef('')
  const [isMore, setMore] = useState(false)
  const dock = useDockState()
  const main = useRef<HTMLElement>(null)
  const inbox = useTopic('inbox')
  const servers = useTopic('servers')
  const open = useMemo(() => [...(inbox?.values() ?? [])].filter(({ state }) => state === 'open'), [inbox])
  const currentScreen = screenLinks.find(({ to }) => location.startsWith(to))
  const isInbox = currentScreen?.name === 'nav.inbox'
  const [, part] = /^\/chat\/([^/]+)/.exec(location) ?? []
  const conversation = part === undefined ? undefined : decodeURIComponent(part)
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
  const all = [...(servers?.values() ?? [])]
  const readyCount = all.filter(({ connection }) => connection.state === 'ready').length
  const hasFailedServer = all.some(({ connection: { state } }) => state === 'failed' || state === 'degraded')
  useNotifications(open, (id) => navigate(routes.question.to(id)))
  useEffect(() => {
    document.title = `${open.length > 0 ? `(${open.length}) ` : ''}${currentScreen === undefined ? '' : `${t(currentScreen.name)} · `}Jackfield`
  }, [open.length, currentScreen, t])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address moves the focus to the new screen
  useEffect(() => {
    setMore(false)
    if (innerWidth < minColumnWidth) dock.close()
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true })
  }, [location])
  const next = (step: number): void => {
    const index = open.findIndex(({ id }) => location === routes.question.to(id))
    const to = open[index === -1 ? 0 : (index + step + open.length) % open.length]
    if (to !== undefined) navigate(routes.question.to(to.id))
  }
  useKeys({
    palette: () => setOverlay('palette'),
    keys: () => setOverlay('keys'),
    dock: () => dock.toggle(),
    stop: () => {
      if (conversation !== undefined) client.call('conversations.stop', { id: conversation }).catch(() => {})
    },
    oldest: () => {
      const [oldest] = open
      if (oldest !== undefined) navigate(routes.question.to(oldest.id))
    },
    next: () => next(1),
    previous: () => next(-1),
  })
  const item = ({ name, to, Icon }: (typeof screenLinks)[number]): ReactNode => (
    <Link
      key={name}
      href={to}
      className={style.item ?? ''}
      title={t(name)}
      aria-current={currentScreen?.name === name ? 'page' : undefined}
    >
      <Icon size={18} strokeWidth={1.5} aria-hidden="true" />
      <span className={style.label}>{t(name)}</span>
      {name === 'nav.inbox' && open.length > 0 && <span className={style.count}>{open.length}</span>}
    </Link>
  )
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
          {screenLinks.map(item)}
        </nav>
        <header className={style.top}>
          <h1>{currentScreen === undefined ? 'Jackfield' : t(currentScreen.name)}</h1>
          {dockQuestions.length > 0 && (
            <Button
              small
              onClick={() => dock.toggle('inbox')}
              aria-expanded={dock.isOpen && dock.tab === 'inbox'}
              aria-controls="dock"
            >
              {t(dockQuestions.length < open.length ? 'nav.others' : 'nav.waiting', {
                count: dockQuestions.length,
              })}
            </Button>
          )}
          {servers !== undefined && servers.size > 0 && (
            <Link className={style.status ?? ''} href={routes.servers.to()} data-wrong={hasFailedServer}>
              <Server size={16} strokeWidth={1.5} aria-hidden="true" /> {readyCount}/{servers.size}
              <span className={style.statusText}>{t('nav.ready')}</span>
            </Link>
          )}
          <Button small onClick={() => setOverlay('palette')} className={style.find}>
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
        <ConnectionLine />
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
        <nav className={style.tabs} aria-label={t('nav.label')}>
          {screenLinks.filter(({ name }) => narrowTabs.includes(name)).map(item)}
          <button
            type="button"
            className={style.item}
            data-here={currentScreen !== undefined && !narrowTabs.includes(currentScreen.name)}
            aria-expanded={isMore}
            onClick={() => setMore(!isMore)}
          >
            <Ellipsis size={18} strokeWidth={1.5} aria-hidden="true" />
            <span>{t('nav.more')}</span>
          </button>
          {isMore && (
            <div className={style.more}>
              {screenLinks.filter(({ name }) => !narrowTabs.includes(name)).map(item)}
            </div>
          )}
        </nav>
        <Announcer count={open.length} newest={open.at(-1)} />
        {overlay !== undefined && (
          <Part name="palette">
            <Palette
              view={overlay}
              typedEarly={typedEarly}
              onKeys={() => setOverlay('keys')}
              onClose={() => setOverlay(undefined)}
            />
          </Part>
        )}
      </div>
    </DockProvider>
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
