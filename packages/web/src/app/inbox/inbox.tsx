import { Check, CircleDot } from 'lucide-react'
import { memo, type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useNow, useRead, useTopic } from '../data/host.tsx'
import { rich, useFormat, useText } from '../i18n/i18n.ts'
import type { Row } from '../questions/answer.ts'
import { QuestionCard } from '../questions/question-card.tsx'
import { routes } from '../routes.ts'
import { Foreign } from '../text/foreign.tsx'
import { Badge, Empty } from '../ui/ui.tsx'
import style from './inbox.module.css'

/** Milliseconds after an answer within which a new question takes the place of the answered one. */
const followUpMs = 3_000

/** Every open question, and the one that is looked at. */
export default function InboxScreen({ question }: { question?: string }): ReactNode {
  const t = useText()
  const [, navigate] = useLocation()
  const rows = useTopic('inbox')
  const all = [...(rows?.values() ?? [])]
  const open = all.filter(({ state }) => state === 'open')
  const settled = all.filter(({ state }) => state !== 'open').toReversed()
  const known = question === undefined ? open[0] : rows?.get(question)
  // An answered question hands over to the next one, but only where its card had the focus or nothing has it.
  const last = useRef<{ id: string; state: string }>(undefined)
  const answered = useRef<{ id: string; atMs: number }>(undefined)
  useEffect(() => {
    const before = last.current
    last.current = known && { id: known.id, state: known.state }
    // One that is lost or withdrawn stays, so that the person reads why.
    if (known?.state === 'answered' && before?.id === known.id && before.state === 'open')
      answered.current = { id: known.id, atMs: performance.now() }
    const [next] = open
    if (question === undefined || next === undefined || answered.current?.id !== question) return
    const { atMs } = answered.current
    answered.current = undefined
    // The call that asked may ask again at once, as after the consent to a page.
    if (performance.now() - atMs < followUpMs) navigate(routes.question.to(next.id), { replace: true })
  })
  const counts = Map.groupBy(open, (row) => row.question.kind)
  return (
    <div className={style.inbox} data-open={question !== undefined}>
      <section className={style.list} aria-label={t('inbox.list')}>
        <p className={style.summary}>
          {t('nav.waiting', { count: open.length })}
          {[...counts].map(([kind, of]) => ` · ${t(`kind.${kind}`)} ${of.length}`)}
        </p>
        {open.map((row) => (
          <QuestionRow key={row.id} row={row} isHere={row.id === known?.id} />
        ))}
        {settled.length > 0 && (
          <details className={style.settled} open={open.length === 0}>
            <summary>{t('inbox.settled', { count: settled.length })}</summary>
            {settled.map((row) => (
              <QuestionRow key={row.id} row={row} isHere={row.id === known?.id} />
            ))}
          </details>
        )}
      </section>
      <section className={style.detail} aria-label={t('inbox.question')}>
        <Link href={routes.inbox.to()} className={style.back ?? ''}>
          ‹ {t('nav.inbox')}
        </Link>
        {known !== undefined ? (
          <QuestionCard row={known} />
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

/** A question that is not among the newest. */
function Older({ id }: { id: string }): ReactNode {
  const t = useText()
  const { data, isPending } = useRead('inbox.get', { id })
  if (isPending) return null
  if (data == null) return <Empty title={t('inbox.unknown')} />
  return <QuestionCard row={{ ...data, rows: [], digest: '' }} />
}

/** Memoized, since hundreds may wait and every key moves between them. */
const QuestionRow = memo(function QuestionRow({ row, isHere }: { row: Row; isHere: boolean }): ReactNode {
  const t = useText()
  const { time } = useFormat()
  const { server, tool } = row.question.cause
  return (
    <Link href={routes.question.to(row.id)} className={style.row ?? ''} aria-current={isHere || undefined}>
      <Badge name={server} identity={server} />
      <span className={style.what}>
        {rich(t, `row.${row.question.kind}`, {
          server: <bdi>{server}</bdi>,
          tool: tool === undefined ? '' : <Foreign text={tool} most={80} inline />,
        })}
      </span>
      <span className={style.age}>
        {row.state === 'open' ? (
          <Age at={row.at} />
        ) : row.state === 'answered' ? (
          <Check size={16} aria-label={t('inbox.state.answered')} />
        ) : (
          <CircleDot size={16} aria-label={t(`inbox.state.${row.state}`)} />
        )}
      </span>
      <span />
      <span className={`${style.what} ${style.sub}`}>
        {server}
        {row.question.kind === 'elicitation' && (
          <>
            {' · '}
            <Foreign text={row.question.params.message} most={60} inline />
          </>
        )}
        {row.answer !== undefined && ` · ${row.answer.by} · ${time(row.answer.at)}`}
      </span>
    </Link>
  )
})

function Age({ at }: { at: string }): ReactNode {
  const { age } = useFormat()
  return age(useNow(5_000) - Date.parse(at))
}
