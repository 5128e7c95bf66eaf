import type { TraceEvent, TraceNode, TracePair, TraceStatistics } from '@jackfield/host/browser'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useCallback, useMemo, useState, useSyncExternalStore } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useOutcome, useText } from '../i18n/i18n.ts'
import { Foreign } from '../text/foreign.tsx'
import { foreign, plain } from '../text/foreign-type.ts'
import { Note } from '../ui/ui.tsx'
import style from './activity.module.css'
import { EventGrid } from './event-grid.tsx'
import { cell, EventCells, KindIcon, timeOf, toneOf } from './event-row.tsx'
import type { EventLog } from './log.ts'

const liveMs = 2_000
const maxInTree = 2_000

export interface ViewProps {
  readonly filter: string
  readonly event: number | undefined
  readonly isFollowing: boolean
  readonly onSelect: (event: number) => void
  readonly onFollow: (isFollowing: boolean) => void
}

const narrow = matchMedia('(max-width: 639px)')
const subscribe = (listener: () => void): (() => void) => {
  narrow.addEventListener('change', listener)
  return () => narrow.removeEventListener('change', listener)
}

/** The height of a row: on a narrow screen an event takes two lines. */
function useRowHeight(): number {
  return useSyncExternalStore(subscribe, () => narrow.matches) ? 52 : 30
}

/** Every event in a line, in the order in which they happened. */
export function ListView({
  log,
  event,
  isFollowing,
  onSelect,
  onFollow,
}: ViewProps & { log: EventLog }): ReactNode {
  const t = useText()
  const rowHeight = useRowHeight()
  const ids = log.ids ?? []
  const selected = useMemo(() => placeOf(ids, event), [ids, event])
  return (
    <EventGrid
      label={t('nav.activity')}
      count={ids.length}
      rowHeight={rowHeight}
      keyAt={(place) => ids[place]}
      selected={selected}
      isFollowing={isFollowing}
      onWindow={useCallback((from: number, to: number) => log.show(from, to), [log])}
      onSelect={(place) => {
        const id = ids[place]
        if (id !== undefined) onSelect(id)
      }}
      onFollow={onFollow}
      onKey={(key) => {
        if (key !== 'f') return false
        onFollow(!isFollowing)
        return true
      }}
    >
      {(place) => {
        const id = ids[place]
        const row = id === undefined ? undefined : log.row(id)
        return row === undefined ? (
          <span {...cell} className={style.loading} aria-busy="true">
            …
          </span>
        ) : (
          <EventCells event={row} />
        )
      }}
    </EventGrid>
  )
}

/** The place of an id among ids that grow. */
export function placeOf(ids: readonly number[], id: number | undefined): number {
  if (id === undefined) return -1
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ids[middle] ?? 0) < id) low = middle + 1
    else high = middle
  }
  return ids[low] === id ? low : -1
}

interface Branch {
  readonly event: TraceEvent
  readonly matched: boolean
  readonly depth: number
  readonly children: number
}

/** Events below what caused them. */
export function TreeView({ filter, event, isFollowing, onSelect, onFollow }: ViewProps): ReactNode {
  const t = useText()
  const rowHeight = useRowHeight()
  const { number } = useFormat()
  const { data } = useRead(
    'trace.tree',
    { filter, limit: maxInTree },
    { everyMs: isFollowing ? liveMs : undefined },
  )
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set())
  const branches = useMemo(() => {
    const list: Branch[] = []
    const visit = ({ event: own, matched, children }: TraceNode, depth: number): void => {
      list.push({ event: own, matched, depth, children: children.length })
      if (!closed.has(own.id)) for (const child of children) visit(child, depth + 1)
    }
    for (const node of plain<readonly TraceNode[] | undefined>(data) ?? []) visit(node, 0)
    return list
  }, [data, closed])
  if (data === undefined) return null
  const toggle = (id: number): void =>
    setClosed((known) => {
      const next = new Set(known)
      if (!next.delete(id)) next.add(id)
      return next
    })
  return (
    <>
      <EventGrid
        label={t('activity.view.tree')}
        count={branches.length}
        rowHeight={rowHeight}
        keyAt={(place) => branches[place]?.event.id}
        selected={branches.findIndex(({ event: own }) => own.id === event)}
        isFollowing={isFollowing}
        onSelect={(place) => {
          const id = branches[place]?.event.id
          if (id !== undefined) onSelect(id)
        }}
        onFollow={onFollow}
        onKey={(key, place) => {
          const branch = branches[place]
          if (branch === undefined || branch.children === 0) return false
          const isClosed = closed.has(branch.event.id)
          if ((key === 'ArrowLeft' && !isClosed) || (key === 'ArrowRight' && isClosed)) {
            toggle(branch.event.id)
            return true
          }
          return false
        }}
      >
        {(place) => {
          const branch = branches[place]
          if (branch === undefined) return null
          const { event: own, depth, children, matched } = branch
          const isClosed = closed.has(own.id)
          const Chevron = isClosed ? ChevronRight : ChevronDown
          return (
            <div className={style.branch} data-matched={matched} role="presentation">
              <span {...cell} className={style.twig}>
                {children > 0 && (
                  <button
                    type="button"
                    tabIndex={-1}
                    aria-expanded={!isClosed}
                    aria-label={t(isClosed ? 'activity.unfold' : 'activity.fold')}
                    onClick={(click) => {
                      click.stopPropagation()
                      toggle(own.id)
                    }}
                  >
                    <Chevron size={14} strokeWidth={1.75} aria-hidden="true" />
                  </button>
                )}
              </span>
              <EventCells event={own} depth={depth} />
            </div>
          )
        }}
      </EventGrid>
      {data.length > 0 && branches.length >= maxInTree && (
        <p className={style.note}>{t('activity.newest', { count: number(maxInTree) })}</p>
      )}
    </>
  )
}

const rawHeight = 84

/** Messages as they crossed the wire, requests with their responses. */
export function RawView({
  log,
  event,
  isFollowing,
  onSelect,
  onFollow,
}: ViewProps & { log: EventLog }): ReactNode {
  const t = useText()
  const outcome = useOutcome()
  const ids = log.ids ?? []
  const [[from, to], setWindow] = useState<readonly [number, number]>([0, 0])
  const wanted = ids.slice(Math.floor(from / 20) * 20, Math.ceil(to / 20) * 20)
  const pairs = plain<readonly TracePair[] | undefined>(
    useRead('trace.pairs', { filter: `id:${wanted.join(',')}`, limit: 200 }, { enabled: wanted.length > 0 })
      .data,
  )
  const known = useMemo(() => {
    const all = new Map<number, unknown>()
    for (const { message, answer } of pairs ?? []) {
      all.set(message.id, message.payload)
      if (answer !== undefined) all.set(answer.id, answer.payload)
    }
    return all
  }, [pairs])
  const [last, setLast] = useState(known)
  // What was shown stays until the next window is there.
  if (known.size > 0 && known !== last) setLast(known)
  return (
    <EventGrid
      label={t('activity.view.raw')}
      count={ids.length}
      rowHeight={rawHeight}
      keyAt={(place) => ids[place]}
      selected={placeOf(ids, event)}
      isFollowing={isFollowing}
      onWindow={useCallback(
        (begin: number, end: number) => {
          log.show(begin, end)
          setWindow([begin, end])
        },
        [log],
      )}
      onSelect={(place) => {
        const id = ids[place]
        if (id !== undefined) onSelect(id)
      }}
      onFollow={onFollow}
    >
      {(place) => {
        const id = ids[place] ?? 0
        const row = log.row(id)
        if (row === undefined)
          return (
            <span {...cell} className={style.loading} aria-busy="true">
              …
            </span>
          )
        const payload = known.get(id) ?? last.get(id)
        return (
          <div className={style.raw} role="presentation" data-direction={row.direction ?? ''}>
            <span {...cell} className={style.rawHead}>
              <KindIcon event={row} />
              <span className={style.time}>{timeOf(row.at)}</span>
              <bdi>{row.server}</bdi>
              <strong>
                <Foreign text={foreign(row.method ?? row.kind)} inline most={60} />
              </strong>
              {row.rpcId !== null && <Foreign text={foreign(`id ${row.rpcId}`)} inline most={40} />}
              <span className={style.status} data-tone={toneOf(row)}>
                {row.status !== null && outcome(row.status)}
              </span>
            </span>
            <span {...cell} className={style.rawText}>
              {payload !== undefined && (
                <Foreign
                  text={foreign(typeof payload === 'string' ? payload : (JSON.stringify(payload) ?? ''))}
                  inline
                  most={400}
                />
              )}
            </span>
          </div>
        )
      }}
    </EventGrid>
  )
}

/** What the events come to: by method and by model. */
export function StatsView({ filter }: { filter: string }): ReactNode {
  const t = useText()
  const { number, duration } = useFormat()
  const stats = plain<TraceStatistics | undefined>(
    useRead('trace.statistics', { filter }, { everyMs: 5_000 }).data,
  )
  const counters = useRead('trace.counters', {}, { everyMs: 5_000 }).data
  if (stats === undefined) return null
  const most = Math.max(1, ...stats.methods.map(({ count }) => count))
  const slowest = Math.max(1, ...stats.methods.map(({ p95Ms }) => p95Ms ?? 0))
  return (
    <div className={style.stats}>
      {counters !== undefined && (
        <dl className={style.counters}>
          <div>
            <dt>{t('stats.events')}</dt>
            <dd>{number(counters.events)}</dd>
          </div>
          <div>
            <dt>{t('stats.bytes')}</dt>
            <dd>{megabytes(counters.bytes, number)}</dd>
          </div>
          <div>
            <dt>{t('stats.dropped')}</dt>
            <dd>{number(counters.dropped)}</dd>
          </div>
          <div>
            <dt>{t('stats.unwritten')}</dt>
            <dd>{number(counters.unwritten)}</dd>
          </div>
        </dl>
      )}
      {stats.methods.length === 0 && <Note tone="info">{t('activity.empty')}</Note>}
      {stats.methods.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className={style.tableBox} tabIndex={0} aria-label={t('stats.methods')}>
          <table className={style.table}>
            <caption>{t('stats.methods')}</caption>
            <thead>
              <tr>
                <th scope="col">{t('activity.server')}</th>
                <th scope="col">{t('stats.method')}</th>
                <th scope="col">{t('stats.count')}</th>
                <th scope="col" data-number>
                  {t('stats.errors')}
                </th>
                <th scope="col" data-number>
                  {t('stats.median')}
                </th>
                <th scope="col">{t('stats.slow')}</th>
                <th scope="col" data-number>
                  {t('stats.bytes')}
                </th>
              </tr>
            </thead>
            <tbody>
              {stats.methods.slice(0, 200).map(({ server, method, count, errors, p50Ms, p95Ms, bytes }) => (
                <tr key={`${server} ${method}`}>
                  <td>
                    <bdi>{server}</bdi>
                  </td>
                  <td>
                    <code>
                      <Foreign text={foreign(method)} inline most={80} />
                    </code>
                  </td>
                  <td>
                    <Bar share={count / most} tone="info" />
                    {number(count)}
                  </td>
                  <td data-number data-tone={errors > 0 ? 'danger' : undefined}>
                    {number(errors)}
                  </td>
                  <td data-number>{p50Ms !== null && duration(p50Ms)}</td>
                  <td>
                    {p95Ms !== null && (
                      <>
                        <Bar share={p95Ms / slowest} tone="warn" />
                        {duration(p95Ms)}
                      </>
                    )}
                  </td>
                  <td data-number>{t('content.bytes', { count: number(bytes) })}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {stats.models.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className={style.tableBox} tabIndex={0} aria-label={t('stats.models')}>
          <table className={style.table}>
            <caption>{t('stats.models')}</caption>
            <thead>
              <tr>
                <th scope="col">{t('stats.model')}</th>
                {['count', 'input', 'output'].map((name) => (
                  <th key={name} scope="col" data-number>
                    {t(`stats.${name}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {stats.models.map(({ model, count, inputTokens, outputTokens }) => (
                <tr key={model}>
                  <td>{model}</td>
                  {[count, inputTokens, outputTokens].map((value, n) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the columns do not change
                    <td key={n} data-number>
                      {number(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  )
}

function Bar({ share, tone }: { share: number; tone: 'info' | 'warn' }): ReactNode {
  return (
    <span
      className={style.barOf}
      data-tone={tone}
      aria-hidden="true"
      ref={(element) => element?.style.setProperty('--share', `${Math.max(1, share * 100)}%`)}
    />
  )
}

function megabytes(bytes: number, number: (value: number) => string): string {
  return `${number(Math.round(bytes / 10_486) / 100)} MiB`
}
