import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Foreign, JsonTree } from '../text/foreign.tsx'
import { plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Empty, Search, uiStyle } from '../ui/ui.tsx'

/** The newest activities, with the details of one. */
export default function Activities({ activity }: { activity?: number }): ReactNode {
  const t = useText()
  const { time, duration, number } = useFormat()
  const rows = useTopic('activity')
  const [filter, setFilter] = useState('')
  if (rows === undefined) return null
  const word = filter.toLowerCase()
  const all = [...rows.values()].sort((a, b) => b.id - a.id)
  const shown = all.filter(({ summary, server, kind, outcome }) =>
    `${plainText(summary)} ${server ?? ''} ${kind} ${outcome}`.toLowerCase().includes(word),
  )
  return (
    <div className={screen.split} data-open={activity !== undefined}>
      <section className={screen.pane} aria-label={t('nav.activity')}>
        <Search
          label={t('activity.filter')}
          value={filter}
          count={t('activity.count', { shown: number(shown.length), all: number(all.length) })}
          onChange={setFilter}
        />
        {shown.length === 0 && <Empty title={t('activity.empty')} />}
        <ul className={screen.rows}>
          {shown.map((row) => (
            <li key={row.id}>
              <Link
                href={routes.activity.to(row.id)}
                className={`${screen.row} ${screen.log}`}
                aria-current={row.id === activity || undefined}
              >
                <span className={screen.muted}>{time(row.at)}</span>
                <span className={screen.muted}>{t(`activity.kind.${row.kind}`)}</span>
                <span className={screen.cut}>
                  <Foreign text={row.summary} most={160} inline />
                </span>
                <span className={row.outcome === 'error' ? uiStyle.danger : screen.muted}>{row.outcome}</span>
                <span className={screen.muted}>{row.durationMs !== null && duration(row.durationMs)}</span>
              </Link>
            </li>
          ))}
        </ul>
      </section>
      <section className={screen.pane} aria-label={t('activity.detail')}>
        {activity === undefined ? (
          <p className={screen.nothing}>{t('activity.choose')}</p>
        ) : (
          <Detail id={activity} />
        )}
      </section>
    </div>
  )
}

function Detail({ id }: { id: number }): ReactNode {
  const t = useText()
  const { dateTime, duration } = useFormat()
  const { data, isPending } = useRead('activity.list', { id })
  const [row] = data ?? []
  if (row === undefined) return isPending ? null : <Empty title={t('activity.unknown')} />
  return (
    <div className={screen.stack}>
      <Link href={routes.activities.to()} className={screen.back ?? ''}>
        ‹ {t('nav.activity')}
      </Link>
      <h2>
        #{row.id} <Foreign text={row.summary} inline />
      </h2>
      <dl className={screen.facts}>
        <dt>{t('activity.at')}</dt>
        <dd>{dateTime(row.at)}</dd>
        <dt>{t('activity.outcome')}</dt>
        <dd>
          {row.outcome} {row.durationMs !== null && duration(row.durationMs)}
        </dd>
        {row.server !== null && (
          <>
            <dt>{t('activity.server')}</dt>
            <dd>
              <Link href={routes.server.to(row.server)}>{row.server}</Link>
            </dd>
          </>
        )}
        {row.cause !== null && (
          <>
            <dt>{t('activity.cause')}</dt>
            <dd>
              <Link href={routes.activity.to(row.cause)}>#{row.cause}</Link>
            </dd>
          </>
        )}
      </dl>
      <JsonTree value={row.detail} label={t('activity.recorded')} />
    </div>
  )
}
