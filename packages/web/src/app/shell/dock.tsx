import { X } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { useTopic } from '../data/host.tsx'
import { useFormat, useOutcome, useText } from '../i18n/i18n.ts'
import type { Row } from '../questions/answer.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { routes } from '../routes.ts'
import { Part } from '../text/part.tsx'
import { Summary } from '../text/summary.tsx'
import { plainText } from '../text/untrusted-text.ts'
import { loaded } from '../ui/loaded.tsx'
import { Button, uiStyle, Views } from '../ui/ui.tsx'
import style from './dock.module.css'
import { type DockTab, dockTabs, useDock } from './dock-state.ts'

const ContextPanel = loaded(() => import('../chat/context-panel.tsx'))

/** Questions that are shown as cards; the others are in the inbox. */
const maxCards = 20
const maxLog = 60
export const dockWidths = { min: 320, default: 376, max: 560 }
const step = 16

/** The dock: a column beside the screen, a drawer in a narrow window, a full page on a phone. */
export function DockAside({
  open,
  conversation,
  width,
  onWidth,
}: {
  /** Open questions that the screen does not show itself. */
  open: readonly Row[]
  conversation: string | undefined
  width: number
  onWidth: (width: number) => void
}): ReactNode {
  const t = useText()
  const dock = useDock()
  const aside = useRef<HTMLElement>(null)
  useEffect(() => aside.current?.style.setProperty('--dock-width', `${width}px`), [width])
  const names: { readonly [T in DockTab]: ReactNode } = {
    inbox: (
      <>
        {t('nav.inbox')} {open.length > 0 && open.length}
      </>
    ),
    context: t('dock.context'),
    log: t('dock.log'),
  }
  return (
    <aside
      className={style.dock}
      id="dock"
      ref={aside}
      aria-label={t('nav.dock')}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) dock.close()
      }}
    >
      <Edge width={width} onWidth={onWidth} />
      <div className={style.bar}>
        <Views
          label={t('nav.dock')}
          views={dockTabs.map((tab) => [tab, names[tab]] as const)}
          value={dock.tab}
          onChange={(tab) => dock.show(tab)}
        />
        <Button small look="quiet" aria-label={t('dock.close')} title={t('dock.close')} onClick={dock.close}>
          <X size={16} aria-hidden="true" />
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className={style.content} tabIndex={0} aria-label={t(`dock.${dock.tab}`)}>
        {dock.tab === 'inbox' && (
          <>
            {open.slice(0, maxCards).map((row) => (
              <QuestionCard key={row.id} row={row} />
            ))}
            {open.length > maxCards && (
              <Link href={routes.inbox.to()}>{t('dock.more', { count: open.length - maxCards })}</Link>
            )}
            {open.length === 0 && <p className={style.quiet}>{t('inbox.emptyMeans')}</p>}
          </>
        )}
        {dock.tab === 'context' &&
          (conversation === undefined ? (
            <p className={style.quiet}>{t('dock.noConversation')}</p>
          ) : (
            <Part name={conversation}>
              <ContextPanel key={conversation} conversation={conversation} focusRequest={dock.focusRequest} />
            </Part>
          ))}
        {dock.tab === 'log' && <Log />}
      </section>
    </aside>
  )
}

/** The handle that resizes the dock by dragging or with the arrow keys. */
function Edge({ width, onWidth }: { width: number; onWidth: (width: number) => void }): ReactNode {
  const t = useText()
  const { min, max } = dockWidths
  const set = (to: number): void => onWidth(Math.round(Math.max(min, Math.min(max, to))))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line between two parts that is moved is no <hr>
    <div
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={t('dock.width')}
      aria-valuemin={min}
      aria-valuemax={max}
      aria-valuenow={width}
      className={style.edge}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) set(innerWidth - event.clientX)
      }}
      onKeyDown={(event) => {
        const change = { ArrowLeft: step, ArrowRight: -step }[event.key]
        if (change === undefined) return
        event.preventDefault()
        set(width + change)
      }}
    />
  )
}

/** The newest activities, including running ones. */
function Log(): ReactNode {
  const t = useText()
  const { time, duration } = useFormat()
  const outcome = useOutcome()
  const rows = useTopic('activity')
  const newest = [...(rows?.values() ?? [])].sort((a, b) => b.id - a.id).slice(0, maxLog)
  return (
    <>
      {rows !== undefined && newest.length === 0 && <p className={style.quiet}>{t('dock.noLog')}</p>}
      <ul className={style.log}>
        {newest.map((row) => (
          <li key={row.id}>
            <Link href={routes.activity.to(row.id)}>
              <span className={style.at}>{time(row.at)}</span>
              <span className={style.what}>
                <Summary event={{ ...row, summary: plainText(row.summary) }} maxCharacters={120} />
              </span>
              <span className={row.outcome === 'error' ? uiStyle.danger : style.at}>
                {row.outcome === 'ok' && row.durationMs !== null
                  ? duration(row.durationMs)
                  : outcome(row.outcome)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <Link href={routes.activities.to()}>{t('dock.allLog')}</Link>
    </>
  )
}
