import { ArrowDownToLine, ChartColumn, ChartGantt, ListTree, Logs, ScrollText } from 'lucide-react'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { Redirect, useLocation } from 'wouter'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ExportButton } from '../inspect/export-button.tsx'
import { type ActivityAddress, type ActivityView, activityViews, routes, useAddress } from '../routes.ts'
import { Empty, smallIcon } from '../ui/ui.tsx'
import style from './activity.module.css'
import { Details } from './details.tsx'
import { FilterBar, FilterHelp } from './filter-bar.tsx'
import { filterWithin, Lanes, type Period } from './lanes.tsx'
import { useLog } from './log.ts'
import { ListView, RawView, StatsView, TreeView } from './views.tsx'

const icons = { list: Logs, tree: ListTree, time: ChartGantt, raw: ScrollText, stats: ChartColumn }

/** The activity log with one filter in five views. `activity`: the id of an activity to open. */
export default function Activities({ activity }: { activity?: number }): ReactNode {
  return activity === undefined ? <Log /> : <EventOfActivity activity={activity} />
}

/** Redirects from the address of an activity to that of its event. */
function EventOfActivity({ activity }: { activity: number }): ReactNode {
  const t = useText()
  const { data, error } = useRead('trace.list', { filter: `row:${activity}`, limit: 1 })
  const [event] = data ?? []
  if (event !== undefined) return <Redirect to={routes.activities.to({ event: event.id })} replace />
  return data === undefined && error === null ? null : <Empty title={t('activity.unknown')} />
}

function addressOf(query: URLSearchParams): ActivityAddress {
  const numberOf = (name: string): number | undefined => {
    const value = Number(query.get(name) ?? Number.NaN)
    return Number.isFinite(value) && value > 0 ? value : undefined
  }
  const [event, from, to] = [numberOf('event'), numberOf('from'), numberOf('to')]
  const view = activityViews.find((name) => name === query.get('view'))
  return {
    filter: query.get('filter') ?? '',
    ...(view !== undefined && { view }),
    ...(event !== undefined && { event }),
    ...(from !== undefined && to !== undefined && from < to && { from, to }),
  }
}

function Log(): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [, navigate] = useLocation()
  const { query } = useAddress()
  const address = addressOf(query)
  const { view = 'list', filter = '', from, to, event } = address
  const period: Period | undefined = from !== undefined && to !== undefined ? { from, to } : undefined
  const search = query.toString()
  const go = useCallback(
    (change: { readonly [K in keyof ActivityAddress]?: ActivityAddress[K] | undefined }): void => {
      const now = addressOf(new URLSearchParams(search))
      const next: Record<string, unknown> = { ...now, ...change }
      for (const [name, value] of Object.entries(next)) if (value === undefined) delete next[name]
      navigate(routes.activities.to(next), { replace: !('view' in change) })
    },
    [navigate, search],
  )
  const requestedEvents =
    view === 'raw' ? `kind:wire ${filter}`.trim() : view === 'time' ? filterWithin(filter, period) : filter
  const log = useLog(requestedEvents)
  const counters = useRead('trace.counters', {}, { everyMs: 5_000 }).data
  // With a link to an event, the list does not scroll to the newest one.
  const [isFollowing, setFollowing] = useState(event === undefined)
  const onSelect = useCallback(
    (id: number): void => {
      setFollowing(false)
      go({ event: id })
    },
    [go],
  )
  const onFilter = useCallback((next: string): void => go({ filter: next }), [go])
  useEffect(() => {
    const onKey = (key: KeyboardEvent): void => {
      if (key.key !== 'Escape' || key.defaultPrevented) return
      if (document.querySelector('dialog[open]') === null) go({ event: undefined })
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [go])
  const error = log.error
  const props = { filter: requestedEvents, event, isFollowing, onSelect, onFollow: setFollowing }
  const count =
    log.ids === undefined
      ? ''
      : t('activity.count', {
          shown: number(log.ids.length),
          all: number(Math.max(log.ids.length, counters?.events ?? 0)),
        })
  return (
    <div className={style.screen} data-open={event !== undefined}>
      <section className={style.main} aria-label={t('nav.activity')}>
        <div className={style.head}>
          <FilterBar value={filter} error={error} count={count} onChange={onFilter} />
          <div className={style.bar}>
            <ViewButtons view={view} onView={(next) => go({ view: next })} />
            {view !== 'stats' && (
              <button
                type="button"
                className={style.follow}
                aria-pressed={isFollowing}
                data-act="follow"
                onClick={() => setFollowing(!isFollowing)}
              >
                <ArrowDownToLine {...smallIcon} />
                <span>{t(isFollowing ? 'activity.following' : 'activity.follow')}</span>
              </button>
            )}
            <ExportButton
              label={t('activity.export')}
              formats={['jsonl', 'har', 'otlp', 'recording']}
              filter={requestedEvents}
            />
          </div>
        </div>
        {error !== undefined ? (
          <FilterHelp />
        ) : (
          <div className={style.body}>
            {view === 'list' && <ListView key={requestedEvents} {...props} log={log} />}
            {view === 'tree' && <TreeView key={requestedEvents} {...props} />}
            {view === 'raw' && <RawView key={requestedEvents} {...props} log={log} />}
            {view === 'stats' && <StatsView filter={requestedEvents} />}
            {view === 'time' && (
              <>
                <Lanes
                  filter={filter}
                  period={period}
                  event={event}
                  isFollowing={isFollowing}
                  onPeriod={(next) =>
                    go({ from: next?.from && Math.floor(next.from), to: next?.to && Math.ceil(next.to) })
                  }
                  onSelect={onSelect}
                />
                <ListView key={requestedEvents} {...props} log={log} />
              </>
            )}
          </div>
        )}
      </section>
      {event !== undefined && (
        <aside className={style.side} aria-label={t('activity.detail')}>
          <Details
            key={event}
            id={event}
            onSelect={onSelect}
            onFilter={onFilter}
            onClose={() => go({ event: undefined })}
          />
        </aside>
      )}
    </div>
  )
}

function ViewButtons({
  view,
  onView,
}: {
  view: ActivityView
  onView: (view: ActivityView) => void
}): ReactNode {
  const t = useText()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    <div className={style.views} role="group" aria-label={t('content.view')}>
      {activityViews.map((name) => {
        const Icon = icons[name]
        return (
          <button type="button" key={name} aria-pressed={name === view} onClick={() => onView(name)}>
            <Icon {...smallIcon} />
            <span>{t(`activity.view.${name}`)}</span>
          </button>
        )
      })}
    </div>
  )
}
