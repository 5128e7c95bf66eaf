import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import type { Row } from '../questions/answer.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { routes } from '../routes.ts'
import { NotificationSwitch } from '../shell/notification-switch.tsx'
import { plainText } from '../text/untrusted-text.ts'
import { Empty, Key, Search } from '../ui/ui.tsx'
import style from './inbox.module.css'
import { QuestionRows } from './question-rows.tsx'

/** Milliseconds after an answer within which a new question takes the place of the answered one. */
const followUpMs = 3_000
/** Minimum number of open questions for which a filter is shown. */
const minFilterRows = 6

/** The inbox: open questions, and the selected one. */
export default function InboxScreen({ question }: { question?: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const rows = useTopic('inbox')
  const [filter, setFilter] = useState('')
  const [kind, setKind] = useState<string>()
  const { open, later, settled } = useMemo(() => {
    const all = [...(rows?.values() ?? [])]
    const waits = all.filter(({ state }) => state === 'open')
    return {
      open: waits.filter(({ deferred }) => deferred !== true),
      later: waits.filter(({ deferred }) => deferred === true),
      settled: all.filter(({ state }) => state !== 'open').toReversed(),
    }
  }, [rows])
  const counts = useMemo(() => Map.groupBy(open, (row) => row.question.kind), [open])
  const word = filter.trim().toLowerCase()
  const shown = useMemo(
    () =>
      open.filter(
        (row) => (kind === undefined || row.question.kind === kind) && searchTextOf(row).includes(word),
      ),
    [open, kind, word],
  )
  const first = shown[0] ?? (open.length === 0 ? later[0] : undefined)
  const shownRow = question === undefined ? first : rows?.get(question)
  useNextQuestion(question, shownRow, open)
  return (
    <div className={style.inbox} data-open={question !== undefined}>
      <section className={style.list} aria-label={t('inbox.list')}>
        <header className={style.head}>
          <p className={style.summary} role="status">
            {t('nav.waiting', { count: open.length })}
            {later.length > 0 && ` · ${t('inbox.later', { count: later.length })}`}
          </p>
          {counts.size > 1 && (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
            <div className={style.kinds} role="group" aria-label={t('inbox.kinds')}>
              {[...counts].map(([kindName, of]) => (
                <button
                  key={kindName}
                  type="button"
                  aria-pressed={kindName === kind}
                  onClick={() => setKind(kindName === kind ? undefined : kindName)}
                >
                  {t(`kind.${kindName}`)} <small>{number(of.length)}</small>
                </button>
              ))}
            </div>
          )}
          {open.length >= minFilterRows && (
            <Search
              label={t('inbox.filter')}
              value={filter}
              count={t('activity.count', { shown: number(shown.length), all: number(open.length) })}
              onChange={setFilter}
            />
          )}
        </header>
        <QuestionRows
          label={t('inbox.list')}
          groups={[
            { name: 'open', rows: shown },
            { name: 'later', rows: later },
            { name: 'settled', rows: settled, isClosed: open.length > 0 },
          ]}
          here={shownRow?.id}
        />
        <footer className={style.foot}>
          <NotificationSwitch />
          <span className={style.keys}>
            <Key>J</Key> <Key>K</Key> {t('inbox.keys')}
          </span>
        </footer>
      </section>
      <section className={style.detail} aria-label={t('inbox.question')}>
        <Link href={routes.inbox.to()} className={style.back ?? ''}>
          ‹ {t('nav.inbox')}
        </Link>
        {shownRow !== undefined ? (
          <QuestionCard row={shownRow} />
        ) : question !== undefined && rows !== undefined ? (
          <Older id={question} />
        ) : rows === undefined ? null : (
          <Empty title={t('inbox.empty')}>
            <p>{t('inbox.emptyMeans')}</p>
          </Empty>
        )}
      </section>
    </div>
  )
}

/** Opens the next question after an answer. A question that is lost or withdrawn stays, so that the user can read why. */
function useNextQuestion(question: string | undefined, current: Row | undefined, open: readonly Row[]): void {
  const [, navigate] = useLocation()
  const last = useRef<{ id: string; state: string }>(undefined)
  const lastAnswered = useRef<{ id: string; atMs: number }>(undefined)
  useEffect(() => {
    const before = last.current
    last.current = current && { id: current.id, state: current.state }
    if (current?.state === 'answered' && before?.id === current.id && before.state === 'open')
      lastAnswered.current = { id: current.id, atMs: performance.now() }
    const [next] = open
    if (question === undefined || next === undefined || lastAnswered.current?.id !== question) return
    const { atMs } = lastAnswered.current
    lastAnswered.current = undefined
    // The same call may ask again immediately, such as after the consent to a page.
    if (performance.now() - atMs < followUpMs) navigate(routes.question.to(next.id), { replace: true })
  })
}

/** The text that the filter searches, in lower case. */
function searchTextOf({ question }: Row): string {
  const { server, tool, caller = '' } = question.cause
  const message = question.kind === 'elicitation' ? plainText(question.params.message) : ''
  return `${server} ${tool === undefined ? '' : plainText(tool)} ${question.kind} ${caller} ${message}`.toLowerCase()
}

/** A question that is not among the newest. */
function Older({ id }: { id: string }): ReactNode {
  const t = useText()
  const { data, isPending } = useRead('inbox.get', { id })
  if (isPending) return null
  if (data == null) return <Empty title={t('inbox.unknown')} />
  return <QuestionCard row={{ ...data, rows: [], digest: '' }} />
}
