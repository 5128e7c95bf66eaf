import {
  Activity,
  Ellipsis,
  Inbox,
  Library,
  ListChecks,
  MessageSquare,
  ScanSearch,
  Search,
  Server,
  Settings,
  Shield,
} from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useConnection, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import icon from '../icon.svg'
import { useKeys } from '../keys/use-keys.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { routes } from '../routes.ts'
import { Button, Key } from '../ui/ui.tsx'
import style from './shell.module.css'

const Palette = lazy(() => import('./palette.tsx'))

const places = [
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

/** Places that fit on a narrow screen; the others are behind a button. */
const tabs = ['nav.chat', 'nav.inbox', 'nav.servers', 'nav.activity']
const dockKey = 'jackfield.dock'

/** Navigation, title, connection and dock around a screen. */
export function Shell({ children }: { children: ReactNode }): ReactNode {
  const t = useText()
  const [location, navigate] = useLocation()
  const [overlay, setOverlay] = useState<'palette' | 'keys'>()
  const [isMore, setMore] = useState(false)
  const [isDock, setDock] = useState(() => localStorage.getItem(dockKey) === 'open')
  const main = useRef<HTMLElement>(null)
  const inbox = useTopic('inbox')
  const servers = useTopic('servers')
  const open = useMemo(() => [...(inbox?.values() ?? [])].filter(({ state }) => state === 'open'), [inbox])
  const here = places.find(({ to }) => location.startsWith(to))
  const isInbox = here?.name === 'nav.inbox'
  const ready = [...(servers?.values() ?? [])].filter(({ connection }) => connection.state === 'ready').length
  useEffect(() => {
    document.title = `${open.length > 0 ? `(${open.length}) ` : ''}${here === undefined ? '' : `${t(here.name)} · `}Jackfield`
  }, [open.length, here, t])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address moves the focus to the new screen
  useEffect(() => {
    setMore(false)
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true })
  }, [location])
  const toggleDock = (): void => {
    localStorage.setItem(dockKey, isDock ? 'closed' : 'open')
    setDock(!isDock)
  }
  const step = (by: number): void => {
    const at = open.findIndex(({ id }) => location === routes.question.to(id))
    const next = open[at === -1 ? 0 : (at + by + open.length) % open.length]
    if (next !== undefined) navigate(routes.question.to(next.id))
  }
  useKeys({
    palette: () => setOverlay('palette'),
    keys: () => setOverlay('keys'),
    dock: toggleDock,
    oldest: () => {
      const [oldest] = open
      if (oldest !== undefined) navigate(routes.question.to(oldest.id))
    },
    next: () => step(1),
    previous: () => step(-1),
  })
  const item = ({ name, to, Icon }: (typeof places)[number]): ReactNode => (
    <Link
      key={name}
      href={to}
      className={style.item ?? ''}
      aria-current={here?.name === name ? 'page' : undefined}
    >
      <Icon size={18} strokeWidth={1.5} aria-hidden="true" />
      <span className={style.label}>{t(name)}</span>
      {name === 'nav.inbox' && open.length > 0 && <span className={style.count}>{open.length}</span>}
    </Link>
  )
  return (
    <div className={style.shell}>
      <a className={style.skip} href="#main">
        {t('nav.skip')}
      </a>
      <nav className={style.rail} aria-label={t('nav.label')}>
        <div className={style.brand}>
          <img src={icon} alt="" />
          <span className={style.label}>Jackfield</span>
        </div>
        {places.map(item)}
      </nav>
      <header className={style.top}>
        <h1>{here === undefined ? 'Jackfield' : t(here.name)}</h1>
        {!isInbox && open.length > 0 && (
          <Button small className={style.waiting} onClick={toggleDock} aria-expanded={isDock}>
            {t('nav.waiting', { count: open.length })}
          </Button>
        )}
        {servers !== undefined && (
          <Link className={style.status ?? ''} href={routes.servers.to()}>
            <Server size={16} strokeWidth={1.5} aria-hidden="true" /> {ready}/{servers.size}
            <span className="hidden-text">{t('nav.ready')}</span>
          </Link>
        )}
        <Button small onClick={() => setOverlay('palette')} className={style.find}>
          <Search size={16} strokeWidth={1.5} aria-hidden="true" />
          <span>{t('nav.find')}</span> <Key>Ctrl K</Key>
        </Button>
      </header>
      <main className={style.main} id="main" ref={main} tabIndex={-1}>
        <ConnectionLine />
        {children}
      </main>
      {isDock && !isInbox && (
        <aside className={style.dock} id="dock" aria-label={t('nav.dock')}>
          <h2>{t('nav.waiting', { count: open.length })}</h2>
          {open.slice(0, 20).map((row) => (
            <QuestionCard key={row.id} row={row} />
          ))}
        </aside>
      )}
      <nav className={style.tabs} aria-label={t('nav.label')}>
        {places.filter(({ name }) => tabs.includes(name)).map(item)}
        <button type="button" className={style.item} aria-expanded={isMore} onClick={() => setMore(!isMore)}>
          <Ellipsis size={18} strokeWidth={1.5} aria-hidden="true" />
          <span>{t('nav.more')}</span>
        </button>
        {isMore && (
          <div className={style.more}>{places.filter(({ name }) => !tabs.includes(name)).map(item)}</div>
        )}
      </nav>
      <Announcer count={open.length} newest={open.at(-1)} />
      {overlay !== undefined && (
        <Suspense>
          <Palette view={overlay} onClose={() => setOverlay(undefined)} />
        </Suspense>
      )}
    </div>
  )
}

/** Says that the connection is lost, after a second; what is on the screen stays. */
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

/** One polite line for screen readers when a question arrives. */
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
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (count > before.current && newest !== undefined)
      setSaid(t(`announce.${newest.question.kind}`, { server: newest.question.cause.server }))
    before.current = count
  }, [count, newest, t])
  return (
    <div className="hidden-text" aria-live="polite">
      {said}
    </div>
  )
}
