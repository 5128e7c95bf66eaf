import type { TraceEvent, TraceNode, TracePair, TraceStatistics } from '@jackfield/host/browser'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useCallback, useMemo, useState, useSyncExternalStore } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useOutcome, useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Note } from '../ui/ui.tsx'
import style from './activity.module.css'
import { EventGrid } from './event-grid.tsx'
import { cell, EventCells, KindIcon, timeOf, toneOf } from './event-row.tsx'
import type { EventLog } from './log.ts'

const liveMs = 2_000
const maxTreeNodes = 2_000

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

/** Lists every event in a line, in chronological order. */
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
  const selected = useMemo(() => indexOfId(ids, event), [ids, event])
  return (
    <EventGrid
      label={t('nav.activity')}
      count={ids.length}
      rowHeight={rowHeight}
      keyAt={(index) => ids[index]}
      selected={selected}
      isFollowing={isFollowing}
      onWindow={useCallback((from: number, to: number) => log.show(from, to), [log])}
      onSelect={(index) => {
        const id = ids[index]
        if (id !== undefined) onSelect(id)
      }}
      onFollow={onFollow}
      onKey={(key) => {
        if (key !== 'f') return false
        onFollow(!isFollowing)
        return true
      }}
    >
      {(index) => {
        const id = ids[index]
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

/** The index of an id in an ascending list; -1 if it is missing. */
function indexOfId(ids: readonly number[], id: number | undefined): number {
  if (id === undefined) return -1
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ids[middle] ?? 0) < id) low = middle + 1
    else high = middle
  }
  return ids[low] === id ? low : -1
}

interface TreeRow {
  readonly event: TraceEvent
  readonly matched: boolean
  readonly depth: number
  readonly children: number
}

/** Shows events as a tree, each below its cause. */
export function TreeView({ filter, event, isFollowing, onSelect, onFollow }: ViewProps): ReactNode {
  const t = useText()
  const rowHeight = useRowHeight()
  const { number } = useFormat()
  const { data } = useRead(
    'trace.tree',
    { filter, limit: maxTreeNodes },
    { everyMs: isFollowing ? liveMs : undefined },
  )
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set())
  const branches = useMemo(() => {
    const list: TreeRow[] = []
    const visit = ({ event: nodeEvent, matched, children }: TraceNode, depth: number): void => {
      list.push({ event: nodeEvent, matched, depth, children: children.length })
      if (!closed.has(nodeEvent.id)) for (const child of children) visit(child, depth + 1)
    }
    for (const node of plain<readonly TraceNode[] | undefined>(data) ?? []) visit(node, 0)
    return list
  }, [data, closed])
  if (data === undefined) return null
  const toggle = (id: number): void =>
    setClosed((current) => {
      const next = new Set(current)
      if (!next.delete(id)) next.add(id)
      return next
    })
  return (
    <>
      <EventGrid
        label={t('activity.view.tree')}
        count={branches.length}
        rowHeight={rowHeight}
        keyAt={(index) => branches[index]?.event.id}
        selected={branches.findIndex(({ event: branchEvent }) => branchEvent.id === event)}
        isFollowing={isFollowing}
        onSelect={(index) => {
          const id = branches[index]?.event.id
          if (id !== undefined) onSelect(id)
        }}
        onFollow={onFollow}
        onKey={(key, index) => {
          const branch = branches[index]
          if (branch === undefined || branch.children === 0) return false
          const isClosed = closed.has(branch.event.id)
          if ((key === 'ArrowLeft' && !isClosed) || (key === 'ArrowRight' && isClosed)) {
            toggle(branch.event.id)
            return true
          }
          return false
        }}
      >
        {(index) => {
          const branch = branches[index]
          if (branch === undefined) return null
          const { event: branchEvent, depth, children, matched } = branch
          const isClosed = closed.has(branchEvent.id)
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
                      toggle(branchEvent.id)
                    }}
                  >
                    <Chevron size={14} strokeWidth={1.75} aria-hidden="true" />
                  </button>
                )}
              </span>
              <EventCells event={branchEvent} depth={depth} />
            </div>
          )
        }}
      </EventGrid>
      {data.length > 0 && branches.length >= maxTreeNodes && (
        <p className={style.note}>{t('activity.newest', { count: number(maxTreeNodes) })}</p>
      )}
    </>
  )
}

const rawHeight = 84

/** Shows raw messages, requests with their responses. */
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
  const visibleIds = ids.slice(Math.floor(from / 20) * 20, Math.ceil(to / 20) * 20)
  const pairs = plain<readonly TracePair[] | undefined>(
    useRead(
      'trace.pairs',
      { filter: `id:${visibleIds.join(',')}`, limit: 200 },
      { enabled: visibleIds.length > 0 },
    ).data,
  )
  const payloads = useMemo(() => {
    const byId = new Map<number, unknown>()
    for (const { message, answer } of pairs ?? []) {
      byId.set(message.id, message.payload)
      if (answer !== undefined) byId.set(answer.id, answer.payload)
    }
    return byId
  }, [pairs])
  const [previous, setPrevious] = useState(payloads)
  // The previous payloads are shown until the next window is loaded.
  if (payloads.size > 0 && payloads !== previous) setPrevious(payloads)
  return (
    <EventGrid
      label={t('activity.view.raw')}
      count={ids.length}
      rowHeight={rawHeight}
      keyAt={(index) => ids[index]}
      selected={indexOfId(ids, event)}
      isFollowing={isFollowing}
      onWindow={useCallback(
        (begin: number, end: number) => {
          log.show(begin, end)
          setWindow([begin, end])
        },
        [log],
      )}
      onSelect={(index) => {
        const id = ids[index]
        if (id !== undefined) onSelect(id)
      }}
      onFollow={onFollow}
    >
      {(index) => {
        const id = ids[index] ?? 0
        const row = log.row(id)
        if (row === undefined)
          return (
            <span {...cell} className={style.loading} aria-busy="true">
              …
            </span>
          )
        const payload = payloads.get(id) ?? previous.get(id)
        return (
          <div className={style.raw} role="presentation" data-direction={row.direction ?? ''}>
            <span {...cell} className={style.rawHead}>
              <KindIcon event={row} />
              <span className={style.time}>{timeOf(row.at)}</span>
              <bdi>{row.server}</bdi>
              <strong>
                <SafeText text={untrusted(row.method ?? row.kind)} inline maxCharacters={60} />
              </strong>
              {row.rpcId !== null && (
                <SafeText text={untrusted(`id ${row.rpcId}`)} inline maxCharacters={40} />
              )}
              <span className={style.status} data-tone={toneOf(row)}>
                {row.status !== null && outcome(row.status)}
              </span>
            </span>
            <span {...cell} className={style.rawText}>
              {payload !== undefined && (
                <SafeText
                  text={untrusted(typeof payload === 'string' ? payload : (JSON.stringify(payload) ?? ''))}
                  inline
                  maxCharacters={400}
                />
              )}
            </span>
          </div>
        )
      }}
    </EventGrid>
  )
}

/** Statistics of the events by method and by model. */
export function StatsView({ filter }: { filter: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const stats = plain<TraceStatistics | undefined>(
    useRead('trace.statistics', { filter }, { everyMs: 5_000 }).data,
  )
  const counters = useRead('trace.counters', {}, { everyMs: 5_000 }).data
  if (stats === undefined) return null
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
      {stats.methods.length > 0 && <MethodTable methods={stats.methods} />}
      {stats.models.length > 0 && <ModelTable models={stats.models} />}
    </div>
  )
}

function MethodTable({ methods }: Pick<TraceStatistics, 'methods'>): ReactNode {
  const t = useText()
  const { number, duration } = useFormat()
  const maxCount = Math.max(1, ...methods.map(({ count }) => count))
  const maxP95Ms = Math.max(1, ...methods.map(({ p95Ms }) => p95Ms ?? 0))
  return (
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
          {methods.slice(0, 200).map(({ server, method, count, errors, p50Ms, p95Ms, bytes }) => (
            <tr key={`${server} ${method}`}>
              <td>
                <bdi>{server}</bdi>
              </td>
              <td>
                <code>
                  <SafeText text={untrusted(method)} inline maxCharacters={80} />
                </code>
              </td>
              <td>
                <Bar share={count / maxCount} tone="info" />
                {number(count)}
              </td>
              <td data-number data-tone={errors > 0 ? 'danger' : undefined}>
                {number(errors)}
              </td>
              <td data-number>{p50Ms !== null && duration(p50Ms)}</td>
              <td>
                {p95Ms !== null && (
                  <>
                    <Bar share={p95Ms / maxP95Ms} tone="warn" />
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
  )
}

function ModelTable({ models }: Pick<TraceStatistics, 'models'>): ReactNode {
  const t = useText()
  const { number } = useFormat()
  return (
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
          {models.map(({ model, count, inputTokens, outputTokens }) => (
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
  )
}

/** A value as a part of the largest one of its column. */
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
